"""Verbs of savepoints."""
