"""A disk that is full, wherever that is noticed: a named error, and everything as it should be once there is room."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import EngineError
from tests.delivery.pipeline import expected, run, written

pytestmark = [
    pytest.mark.usefixtures("open_files_are_noticed_here"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def fails_at(number: int) -> Callable[[int], None]:
    """No room for the so-many-th file that is to be made durable, nor for any after it."""
    count = [0]

    def fsync(handle: int) -> None:
        count[0] += 1
        if count[0] >= number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return fsync


@pytest.mark.parametrize("kind", ["single_file", "json", "parquet", "rolling-json"])
def test_a_full_disk_is_named_and_nothing_is_lost(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = list[EngineError]()
    for number in range(1, 200):
        root = tmp_path / str(number)
        monkeypatch.setattr(os, "fsync", lambda handle: None)
        run(kind, root, until=1)
        monkeypatch.setattr(os, "fsync", fails_at(number))
        try:
            run(kind, root, until=2)
            break
        except EngineError as error:
            refused.append(error)
        monkeypatch.setattr(os, "fsync", lambda handle: None)

        run(kind, root, until=6)

        assert written(kind, root) == expected(6)
    assert len(refused) >= 3
    assert {error.code for error in refused} == {"data.disk_full"}
    assert all("No space left" in error.message and error.hint for error in refused)
