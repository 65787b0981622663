"""Parsers of the small languages in function arguments: JSONPath, strftime, time patterns."""
