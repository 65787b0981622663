"""Kafka: read topics, and write them at least once or exactly once."""
