"""Random queries over random streams, compared with the batch answer of another engine over the same rows."""
