"""Expressions and functions computed over columns of Arrow, with the results that Spark gives."""
