"""JSON, one object to a record."""
