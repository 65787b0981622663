"""Avro, with and without a schema registry."""
