"""Directories of files: as sources, lookup tables, and exactly-once sinks."""
