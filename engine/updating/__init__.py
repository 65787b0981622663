"""Changelog operators: the state of a shard of keys, and the changelog rows that an epoch causes.

This package does not know Spark. A step is a function from state and input to new state and output, so a test can run
it alone.
"""
