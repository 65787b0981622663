"""Tasks that wait for a pipeline."""
