"""How long a pipeline rests after an epoch."""

from __future__ import annotations

from datetime import timedelta

DEFAULT_LINGER = timedelta(milliseconds=250)
"""Short beside what people notice; it halves the epochs of a stream with some rows a second."""
LONGEST_LINGER = timedelta(seconds=10)
"""As what may be set: whoever wants epochs further apart sets the checkpoint interval."""
