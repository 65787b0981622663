"""Exactly-once delivery: pure decisions and small files. Does not use Spark."""
