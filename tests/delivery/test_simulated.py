"""Crashes at every step that makes something durable, and histories of crashes and restores by chance."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.delivery.pipeline import expected, restore, run, written

# a crash closes no file, and here the files live on without their process
pytestmark = [
    pytest.mark.usefixtures("open_files_are_noticed_here"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
KINDS = ["single_file", "json", "parquet", "rolling-json", "rolling-parquet", "delta"]


class Crash(BaseException):
    """The process is gone; nothing may catch it."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    monkeypatch.setattr("engine.delivery.rolling.GATHERED_AT_ONCE", 2)


@contextmanager
def crash_at_sync(number: int) -> Iterator[list[int]]:
    """Crash instead of the so-many-th sync; the list counts them. Nothing is synced: the machine goes on."""
    syncs = [0]

    def fsync(handle: int) -> None:
        syncs[0] += 1
        if syncs[0] == number:
            raise Crash

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        yield syncs


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_restored", [False, True], ids=["plain", "rewinding"])
def test_a_crash_at_any_sync_is_repaired(kind: str, is_restored: bool, tmp_path: Path) -> None:
    history = {"lineage": "two", "generation": 2, "parents": (("one", 1),)} if is_restored else {}
    run(kind, tmp_path / "before", until=4 if is_restored else 2)
    restore(tmp_path / "before", 1)
    number = 0
    while True:
        number += 1
        root = tmp_path / str(number)
        shutil.copytree(tmp_path / "before", root)
        with crash_at_sync(number) as syncs:
            try:
                run(kind, root, until=3, **history)
            except Crash:
                pass
            else:
                break
        assert syncs == [number]

        run(kind, root, until=4, **history)

        assert written(kind, root) == expected(4)
    assert number > 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_any_history_of_crashes_and_restores_ends_well(kind: str, seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    lineage, parents = "l0", list[tuple[str, int]]()
    ancestry = {"l0": list[tuple[str, int]]()}
    owners: dict[int, str] = {}
    for generation in range(1, 9):
        with crash_at_sync(chance.randrange(1, 60)), suppress(Crash):
            run(kind, tmp_path, until=8, lineage=lineage, generation=generation, parents=tuple(parents))
        epochs = [int(line) for line in (tmp_path / "commits").read_text().split()]
        owners = {number: owners.get(number, lineage) for number in epochs}
        if epochs and chance.random() < 0.4:
            back = chance.choice(epochs)
            restore(tmp_path, back)
            owners = {number: owner for number, owner in owners.items() if number <= back}
            parent = owners[back]
            parents = [(parent, back), *(link for link in ancestry[parent] if link[1] < back)]
            lineage = f"l{generation}"
            ancestry[lineage] = parents

    run(kind, tmp_path, until=8, lineage=lineage, generation=9, parents=tuple(parents))

    assert written(kind, tmp_path) == expected(8)
