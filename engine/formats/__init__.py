"""Bytes to Arrow and back, one format a module."""
