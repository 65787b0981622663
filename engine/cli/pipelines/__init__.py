"""Verbs of pipelines: deploy, list, stop, rescale, move, logs."""
