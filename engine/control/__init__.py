"""What the control plane does with pipelines, without HTTP: plans, holds, sessions, changes."""
