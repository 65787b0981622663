"""Endpoints of stored connections, tables and functions."""
