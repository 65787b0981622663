"""Read source tables: plan where an epoch ends, read its rows, compute watermarks."""
