"""Operators of our own that keep state, and reading the state of Spark's."""
