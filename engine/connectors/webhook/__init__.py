"""Webhooks: a POST for every row."""
