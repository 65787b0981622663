"""Redis: looking rows up, and writing them."""
