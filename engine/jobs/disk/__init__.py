"""The data directory: its layout, its size, and leftovers."""
