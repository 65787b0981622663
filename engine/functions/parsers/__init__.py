"""Readers of the small languages that arguments are written in: JSONPath, strftime, patterns of time."""
