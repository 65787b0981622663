"""Processes of this machine: drivers, spares, probes, rehearsals, and what they use."""
