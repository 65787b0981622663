"""What is said of a place that cannot be written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.errors import UnwritableTargetError


def unwritable(path: Path, wrong: OSError) -> UnwritableTargetError:
    """The error of a target that the process cannot write."""
    return UnwritableTargetError(
        f"{path} cannot be written: {wrong.strerror or wrong}",
        hint="check the option 'path', its permissions and the disk",
    )


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Within it a fault of the disk is the error of that path."""
    try:
        yield
    except OSError as wrong:
        raise unwritable(path, wrong) from wrong
