"""Endpoints of what is kept for all pipelines: connections, tables, functions."""
