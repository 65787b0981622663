"""Prometheus metrics: declarations, collectors, and the endpoint."""

METRICS_PATH = "/metrics"
"""Path of the endpoint; by convention it is not below the API."""
