"""Stored tables, connections and functions, which all scripts can use: their SQL, and their uses."""
