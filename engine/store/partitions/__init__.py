"""Tables of time buckets: consumers, deliveries, late batches, certificates."""
