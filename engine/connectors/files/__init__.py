"""Shared code of connectors for files: segments, rolling, partitioning, targets, and rows of a file."""
