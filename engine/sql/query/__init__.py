"""Queries, with a module per clause or kind of relation."""
