"""Placement of a plan's parts: in a source task, in a single task, or in Spark."""
