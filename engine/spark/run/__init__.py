"""The life of a run: start, epochs, pacing, progress, stop."""
