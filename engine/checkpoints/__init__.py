"""State on disk: its layout, copies of it, and what may be done with them."""
