"""Traces of deployments, runs and savepoints."""
