"""Sensors, which wait for a pipeline."""
