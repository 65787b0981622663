"""The pause of a pipeline after an epoch."""

from __future__ import annotations

from datetime import timedelta

DEFAULT_LINGER = timedelta(milliseconds=250)
"""Too short for users to notice; it halves the number of epochs of a stream with some rows per second."""
LONGEST_LINGER = timedelta(seconds=10)
"""Largest setting; for a larger distance of epochs, set the checkpoint interval."""
