"""Runs that OpenLineage was told of, and runs that asked for changes."""
