"""Expressions and functions over Arrow columns, with the results of Spark."""
