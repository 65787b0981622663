"""Tasks that change a pipeline."""
