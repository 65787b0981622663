"""Reads and writes tables of SQLite."""
