"""Whether a query can be rehearsed, and whether there is room for it."""
