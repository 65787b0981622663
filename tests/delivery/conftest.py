"""What tests of failing sinks share."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture
def open_files_are_noticed_here() -> Iterator[None]:
    """What fails closes no file; that is noticed before another test runs, which would be blamed for it."""
    yield
    gc.collect()
