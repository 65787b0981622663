"""The control plane without HTTP: plans, savepoints, sessions, change feed."""
