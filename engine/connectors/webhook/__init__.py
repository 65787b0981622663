"""Webhooks: one POST per row."""
