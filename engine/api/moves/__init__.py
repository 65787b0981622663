"""Endpoints that move a pipeline to another control plane."""
