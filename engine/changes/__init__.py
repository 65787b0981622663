"""Upgrade planning: the effect of a new script on a pipeline's state, computed before anything is done."""
