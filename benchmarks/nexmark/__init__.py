"""Nexmark's queries through the engine and through its peers, by turns: `python -m benchmarks.nexmark --help`."""
