"""Emitted OpenLineage runs, and runs that have requested changes."""
