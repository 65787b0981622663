"""Streaming SQL as long-running jobs on Spark Structured Streaming."""

__version__ = "0.1.0"
"""The version of the whole distribution: the build reads it here, and the provider from the installed package."""
