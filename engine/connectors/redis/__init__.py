"""Redis: look up rows, and write them."""
