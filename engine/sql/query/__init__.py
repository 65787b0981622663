"""Queries, a clause or a kind of relation to a file."""
