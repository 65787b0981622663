"""Endpoints of pipelines: deploy, list, change, fork, preview, delete."""
