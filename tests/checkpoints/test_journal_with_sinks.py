"""Sinks whose state is in a journal, at every request to the storage: the driver is killed there and its folder is
deleted, or it sleeps there until a successor in another folder has finished."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.checkpoints import journal as journals
from engine.checkpoints.journal import Journal, open_journal
from engine.delivery.epoch import Epoch
from engine.delivery.mirrored import append_changes, mirrored
from engine.delivery.storage import LocalStorage, Stored
from engine.errors import SupersededError
from tests.connectors.tables import NUMBERS, batch, sink, take
from tests.delivery.pipeline import expected, target, written

EPOCHS = 2
KINDS = ("json", "rolling-json", "single_file")


class Killed(BaseException):
    """The driver is gone; nothing may catch it."""


@dataclass
class Watched:
    """A storage that calls `before` and `after` with the number of each request."""

    storage: LocalStorage
    before: Callable[[int], None] = lambda _: None
    after: Callable[[int], None] = lambda _: None
    count: int = 0

    def create(self, name: str, content: bytes) -> str | None:
        self.count += 1
        number = self.count
        self.before(number)
        version = self.storage.create(name, content)
        self.after(number)
        return version

    def get(self, name: str) -> Stored | None:
        self.count += 1
        self.before(self.count)
        return self.storage.get(name)

    def __getattr__(self, name: str) -> object:
        return getattr(self.storage, name)


_NUMBERS = itertools.count()


def run(kind: str, root: Path, storage: object) -> int:
    """Run the epochs that are not committed in a folder that is empty at first, and then gone; return their number."""
    state = root / f"machine-{next(_NUMBERS)}" / "state"
    state.mkdir(parents=True)
    journal = open_journal(storage, state)
    try:
        with mirrored(state, journal):
            return epochs_of(kind, root, state, journal)
    finally:
        journal.lease._stop.set()
        shutil.rmtree(state.parent)


def epochs_of(kind: str, root: Path, state: Path, journal: Journal) -> int:
    offsets, commits = state / "checkpoint" / "offsets", state / "checkpoint" / "commits"
    for folder in (offsets, commits):
        folder.mkdir(parents=True, exist_ok=True)
    done = sum(1 for _ in commits.iterdir())
    for number in range(done, EPOCHS):
        (offsets / str(number)).write_text("v1")
        append_changes(offsets)
        values = [(row["n"], row["name"]) for row in expected(number + 1)[number * 10 :]]
        epoch = Epoch(number, "one", journal.state.claims[-1], f"offsets-{number}", is_last=number == EPOCHS - 1)
        first, second = batch(NUMBERS, *values[:5]), batch(NUMBERS, *values[5:])
        take(sink(target(kind, root), state / "sinks" / "t"), epoch, [first], [second])
        (commits / str(number)).write_text("v1")
    journal.append()
    return EPOCHS - done


@pytest.fixture(autouse=True)
def _no_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "wait_until_free", lambda _: None)
    monkeypatch.setattr(journals, "SNAPSHOT_EVERY", 4)
    monkeypatch.setattr("os.fsync", lambda _: None)  # the machine stays up


def requests_of_a_run(kind: str, folder: Path) -> int:
    watched = Watched(LocalStorage(folder / "bucket"))
    assert run(kind, folder, watched) == EPOCHS
    return watched.count


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("moment", ["before", "after"])
def test_driver_that_is_killed_at_any_request_loses_and_doubles_nothing(tmp_path: Path, kind: str, moment: str) -> None:
    for at in range(1, requests_of_a_run(kind, tmp_path / "straight") + 1):
        root = tmp_path / str(at)
        storage = LocalStorage(root / "bucket")

        def kill(number: int, at: int = at) -> None:
            if number == at:
                raise Killed

        killed = Watched(storage, **{moment: kill})
        if moment == "before":
            with pytest.raises(Killed):
                run(kind, root, killed)
        else:
            with suppress(Killed):
                run(kind, root, killed)
        run(kind, root, storage)
        assert written(kind, root) == expected(EPOCHS), f"killed at request {at}"


@pytest.mark.parametrize("kind", KINDS)
def test_driver_that_sleeps_at_any_request_writes_nothing_after_its_successor(tmp_path: Path, kind: str) -> None:
    for at in range(2, requests_of_a_run(kind, tmp_path / "straight") + 1):
        root = tmp_path / str(at)
        storage = LocalStorage(root / "bucket")
        after: list[object] = []

        def sleep(number: int, at: int = at, root: Path = root, after: list[object] = after) -> None:
            if number == at:
                run(kind, root, LocalStorage(root / "bucket"))
                after.append(written(kind, root))
                after.append(sorted(LocalStorage(root / "bucket").list("journal/")))

        with pytest.raises(SupersededError):
            run(kind, root, Watched(storage, before=sleep))
        assert written(kind, root) == expected(EPOCHS) == after[0], f"asleep at request {at}"
        assert sorted(storage.list("journal/")) == after[1]
