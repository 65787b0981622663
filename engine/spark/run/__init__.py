"""The life of a run: start, epochs, pauses, progress, stop."""
