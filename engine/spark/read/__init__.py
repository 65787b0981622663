"""Read source tables: plan where an epoch ends, read its rows, work out watermarks."""
