"""Values that several layers share; each module is pure and imports next to nothing."""
