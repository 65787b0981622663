"""The engine and its peers: a process each, which plays a query whenever it is told to.

`python -m benchmarks.nexmark.peers NAME` reads turns from standard input. Flink has a Python of its own, so nothing is
imported here that only the engine's has.
"""
