"""Translate text to a typed plan. The only package that uses the SQL parser."""
