"""Kafka: reading topics, and writing them in staged transactions."""
