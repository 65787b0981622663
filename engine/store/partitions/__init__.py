"""Tables of time buckets: consumers, deliveries, late rows, certificates."""
