"""State on disk: its layout, copies of it, and operations on it."""
