"""Writing to Kafka: at least once, and exactly once in staged transactions."""
