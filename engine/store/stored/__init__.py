"""Connections, tables and functions that are kept for all pipelines."""
