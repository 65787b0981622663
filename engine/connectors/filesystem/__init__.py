"""Directories of files: read, looked up, and written exactly once."""
