"""Tables of savepoints and their rules."""
