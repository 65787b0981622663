"""Expressions that give one value for a row."""
