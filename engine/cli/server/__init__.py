"""Verbs of the control plane itself: serve, tokens, backup, sweep."""
