"""Step 42."""

M0042_STATE_REQUESTS = ("ALTER TABLE checkpoints ADD COLUMN state_requests TEXT",)
"""Requests to the bucket of the state, by kind."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (M0042_STATE_REQUESTS,)
