"""Write to Kafka: at least once, or exactly once in staged transactions."""
