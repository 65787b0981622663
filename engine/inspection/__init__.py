"""Inspect a state or a savepoint for content and damage, without Spark and without changing it."""
