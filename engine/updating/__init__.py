"""Operators whose rows are replaced: what is kept per bucket of keys, and which changes an epoch makes of it.

Nothing in here knows of Spark. A step is a function of what is kept and what came to what is kept then and what goes
out, so a test can run it on its own.
"""
