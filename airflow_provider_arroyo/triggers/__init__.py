"""Triggers, which wait without a worker."""
