"""Take, test, hold and remove savepoints."""
