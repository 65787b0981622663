"""Figures for Prometheus: what is declared, how it is collected, and where it is served."""

METRICS_PATH = "/metrics"
"""Where Prometheus asks; programs have it there, beside their API."""
