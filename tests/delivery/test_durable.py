from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.delivery.durable import create_durably, replace_durably
from engine.delivery.publish import publish


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def no_links(draft: Path, target: Path) -> None:
    raise OSError(errno.EPERM, "no links here")


@pytest.fixture(params=["links", "no links"])
def has_links(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "no links":
        monkeypatch.setattr(os, "link", no_links)


@pytest.mark.usefixtures("has_links")
def test_the_first_of_several_creators_of_a_file_succeeds(tmp_path: Path) -> None:
    assert create_durably(tmp_path / "x", b"first")
    assert not create_durably(tmp_path / "x", b"second")

    assert (tmp_path / "x").read_bytes() == b"first"
    assert names(tmp_path) == ["x"]


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    for contents in (b"old", b"new"):
        replace_durably(tmp_path / "deep" / "x", contents)

    assert (tmp_path / "deep" / "x").read_bytes() == b"new"
    assert names(tmp_path / "deep") == ["x"]


@pytest.mark.parametrize("write", [create_durably, replace_durably])
def test_file_without_disk_space_leaves_nothing_behind(
    write: Callable[[Path, bytes], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", no_room)

    for _ in range(2):
        with pytest.raises(OSError, match="No space left"):
            write(tmp_path / "x", b"contents")

    assert names(tmp_path) == []


@pytest.mark.usefixtures("has_links")
def test_a_file_may_be_published_again_when_it_is_equal(tmp_path: Path) -> None:
    for _ in range(2):
        publish(tmp_path / "a" / "x", lambda draft: draft.write_bytes(b"same"))

    assert names(tmp_path / "a") == ["x"]
