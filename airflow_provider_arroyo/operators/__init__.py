"""Operators, which change a pipeline."""
