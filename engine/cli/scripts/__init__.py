"""Verbs that work on a script on this machine: run, check, explain, lineage."""
