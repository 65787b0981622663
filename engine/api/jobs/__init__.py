"""Endpoints of jobs: runs, events, output, watermarks, state."""
