"""Values that several layers share. Each module is pure and has few imports."""
