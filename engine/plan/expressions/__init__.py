"""Scalar expressions: values, calls, conditions, and which of them Arrow can evaluate."""
