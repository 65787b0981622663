"""Streaming SQL as long-running jobs on Spark Structured Streaming."""

__version__ = "0.1.0"
