"""The benchmarks' own parts: what they measure with, their queries and answers, their page."""
