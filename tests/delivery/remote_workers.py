"""Workers on another machine, as far as files go: they see no state directory, and post what they write."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from engine.delivery import outbox
from engine.spark.run.mailbox import Mailbox

ELSEWHERE = Path("/driver-of-another-machine/state")
"""How workers name the state directory, which is not on their disk."""


def environment_of(mailbox: Mailbox, scratch: Path) -> dict[str, str]:
    """The variables of a worker that has its own files in `scratch`."""
    address = replace(mailbox.address, root=str(ELSEWHERE))
    return {**address.environment(), "SPARK_LOCAL_DIRS": str(scratch)}


@contextmanager
def remote_worker(mailbox: Mailbox, scratch: Path, *, keeps_files: bool = False) -> Iterator[None]:
    """Make this process such a worker for a while. It must hand in all that it writes, unless it keeps copies."""
    scratch.mkdir(exist_ok=True)
    with patch.dict(os.environ, environment_of(mailbox, scratch)), patch.object(outbox, "_current", None):
        try:
            yield
            left = [name for _, _, names in os.walk(scratch) for name in names]
            assert keeps_files or not left, "the worker has kept a file"
        finally:
            if outbox._current is not None:
                outbox._current.client.close()
    assert not ELSEWHERE.exists()
