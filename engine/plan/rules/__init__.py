"""Rewrites of a plan, one a module."""
