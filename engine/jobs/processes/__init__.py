"""Processes on this machine: drivers, spares, probes, rehearsals, and their resource usage."""
