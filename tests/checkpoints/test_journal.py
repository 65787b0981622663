"""The journal of a state directory: what a start finds, and how a run that was replaced notices it."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from engine.checkpoints import journal as journals
from engine.checkpoints import journal_lease
from engine.checkpoints.journal import Journal, journaled, open_journal, read_journal
from engine.checkpoints.journal_lease import wait_until_free
from engine.checkpoints.journal_records import BrokenRecordError, JournaledFile, Record, digest_of, from_bytes, to_bytes
from engine.delivery.durable import create_durably, replace_durably
from engine.delivery.epoch import Epoch
from engine.delivery.fence import check_fence
from engine.delivery.storage import LocalStorage
from engine.errors import StateBucketUnavailableError, StateInUseError, SupersededError, UnreadableStateError


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(tmp_path / "bucket")


_NUMBERS = itertools.count()


def folder(tmp_path: Path) -> Path:
    """An empty folder that no run has had."""
    empty = tmp_path / f"machine-{next(_NUMBERS)}" / "state"
    empty.mkdir(parents=True)
    return empty


def contents(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@contextmanager
def killed(journal: Journal) -> Iterator[Journal]:
    """A run that ends without a word, and whose lease has ended."""
    yield journal
    journal.lease._stop.set()
    journal.lease.is_lost = True
    journal.lease.release()


def test_run_on_another_machine_finds_what_was_durable(storage: LocalStorage, tmp_path: Path) -> None:
    first = folder(tmp_path)
    with journaled(storage, first):
        replace_durably(first / "generation", b"1")
        create_durably(first / "sinks" / "out" / "ledger" / "1.json", b"[1]")
        (first / "logs").mkdir()
        (first / "logs" / "driver.log").write_bytes(b"local")
        (first / "checkpoint" / "state").mkdir(parents=True)
        (first / "checkpoint" / "state" / "1.changelog").write_bytes(b"elsewhere")
        replace_durably(first / "generation", b"2")
        (first / "sinks" / "out" / "ledger" / "1.json").unlink()
        (first / "large").write_bytes(b"x" * 300_000)
    second = folder(tmp_path)
    with journaled(storage, second):
        assert contents(second) == {"generation": b"2", "large": b"x" * 300_000}
        assert (second / "large").stat().st_mtime_ns == (first / "large").stat().st_mtime_ns


def test_killed_run_leaves_all_that_had_become_durable(storage: LocalStorage, tmp_path: Path) -> None:
    first = folder(tmp_path)
    with killed(open_journal(storage, first)) as journal:
        (first / "checkpoint" / "offsets").mkdir(parents=True)
        (first / "checkpoint" / "offsets" / "7").write_bytes(b"v1")
        journal.append()
        (first / "checkpoint" / "commits").mkdir(parents=True)
        (first / "checkpoint" / "commits" / "7").write_bytes(b"v1")
    second = folder(tmp_path)
    with journaled(storage, second):
        assert contents(second) == {"checkpoint/offsets/7": b"v1"}


def test_nothing_is_sent_without_a_change(storage: LocalStorage, tmp_path: Path) -> None:
    with killed(open_journal(storage, folder(tmp_path))) as journal:
        before = storage.list()
        journal.append()
        assert storage.list() == before


def test_run_that_was_replaced_writes_nothing_more(storage: LocalStorage, tmp_path: Path) -> None:
    first, second = folder(tmp_path), folder(tmp_path)
    with killed(open_journal(storage, first)) as old:
        replace_durably(first / "generation", b"1")
        old.append()
        old.look()
        storage.delete(["lease"])  # it has ended in the meantime
        with journaled(storage, second) as new:
            with pytest.raises(SupersededError):
                old.look()
            for number in range(20):
                replace_durably(second / "epoch", str(number).encode())
            after = storage.list("journal/")
            (first / "late").write_bytes(b"late")
            with pytest.raises(SupersededError):
                old.append()
            assert storage.list("journal/") == after
            new.look()


def test_run_that_slept_through_snapshots_writes_nothing_more(
    storage: LocalStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "SNAPSHOT_EVERY", 3)
    first = folder(tmp_path)
    with killed(open_journal(storage, first)) as old:
        for _ in range(3):
            storage.delete(["lease"])
            second = folder(tmp_path)
            with journaled(storage, second):
                for number in range(10):
                    replace_durably(second / "epoch", str(number).encode())
        (first / "late").write_bytes(b"late")
        with pytest.raises(SupersededError):
            old.append()
    state = read_journal(storage)
    assert len(storage.list("journal/")) <= 3 + len(state.claims)
    assert len(storage.list("snapshots/")) == 1


def test_fence_of_a_sink_asks_the_journal(storage: LocalStorage, tmp_path: Path) -> None:
    first = folder(tmp_path)
    epoch = Epoch(7, "A", 1, "o")
    with journaled(storage, first) as journal:
        check_fence(first / "sinks" / "out", epoch)
        storage.create(f"journal/{journal.state.position + 1:012d}", b"a claim")
        with pytest.raises(SupersededError):
            check_fence(first / "sinks" / "out", epoch)
        journal.lease.is_lost = True
        storage.delete([f"journal/{journal.state.position + 1:012d}"])


@dataclass
class Flaky:
    """A storage whose next answers are lost, after or before the request is done."""

    storage: LocalStorage
    faults: list[str] = field(default_factory=list)

    def create(self, name: str, content: bytes) -> str | None:
        fault = self.faults.pop(0) if self.faults and name.startswith("journal/") else "none"
        if fault == "before":
            raise StateBucketUnavailableError("away")
        version = self.storage.create(name, content)
        if fault == "after":
            raise StateBucketUnavailableError("away")
        return version

    def __getattr__(self, name: str) -> object:
        return getattr(self.storage, name)


@pytest.mark.parametrize("fault", ["before", "after"])
def test_lost_answer_does_not_make_a_loser(storage: LocalStorage, tmp_path: Path, fault: str) -> None:
    first, flaky = folder(tmp_path), Flaky(storage)
    with killed(open_journal(flaky, first)) as journal:
        journal.wait = lambda _: None
        flaky.faults = [fault] * 3
        (first / "a").write_bytes(b"1")
        journal.append()
        # so many that the run would end: the next append sends the same bytes first
        flaky.faults = [fault] * 20
        (first / "a").write_bytes(b"22")
        with pytest.raises(StateBucketUnavailableError):
            journal.append()
        flaky.faults = []
        (first / "b").write_bytes(b"3")
        journal.append()
    second = folder(tmp_path)
    with journaled(storage, second):
        assert contents(second) == {"a": b"22", "b": b"3"}


def test_second_run_is_refused_while_the_first_is_alive(storage: LocalStorage, tmp_path: Path) -> None:
    with journaled(storage, folder(tmp_path)) as journal:

        def renewed(_: float) -> None:
            journal.lease.renew()

        with pytest.raises(StateInUseError):
            wait_until_free(storage, wait=renewed)


@pytest.mark.parametrize("released", [True, False])
def test_start_waits_as_long_as_the_holder_had_promised(
    storage: LocalStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, released: bool
) -> None:
    with killed(open_journal(storage, folder(tmp_path), seconds=40.0)) as journal:
        journal.lease._stop.set()
        if released:
            journal.lease.release()
    monkeypatch.setattr(journal_lease, "machine", lambda: "another one")
    waited: list[float] = []
    seen = wait_until_free(storage, clock=lambda: sum(waited), wait=waited.append)
    assert seen is not None
    assert sum(waited) == (0 if released else 40)


def test_holder_that_has_ended_on_this_machine_is_replaced_at_once(storage: LocalStorage, tmp_path: Path) -> None:
    with killed(open_journal(storage, folder(tmp_path))):
        pass
    assert wait_until_free(storage, wait=lambda _: pytest.fail("it waits")) is not None


def test_lease_that_another_run_has_taken_is_lost(storage: LocalStorage, tmp_path: Path) -> None:
    with killed(open_journal(storage, folder(tmp_path))) as journal:
        storage.put("lease", json.dumps({"released": False, "claim": 9}).encode())
        journal.lease.renew()
        assert journal.lease.is_lost
        (journal.root / "late").mkdir()
        (journal.root / "late" / "file").write_bytes(b"1")
        with pytest.raises(SupersededError):
            journal.append()


def test_any_changed_byte_of_a_record_is_found() -> None:
    content = b"v1\n{}" * 50
    record = Record("change", "t", {"a": JournaledFile(len(content), 1, digest_of(content), content=content)}, ("b",))
    encoded = to_bytes(record)
    assert from_bytes(encoded) == record
    choose = random.Random(7)
    for at in range(len(encoded)):
        broken = bytearray(encoded)
        broken[at] ^= 1 << choose.randrange(8)
        with pytest.raises(BrokenRecordError):
            from_bytes(bytes(broken))


@pytest.mark.parametrize("harm", ["missing", "other", "older"])
def test_damaged_journal_is_named(storage: LocalStorage, tmp_path: Path, harm: str) -> None:
    first = folder(tmp_path)
    with journaled(storage, first):
        for number in range(3):
            replace_durably(first / "epoch", str(number).encode())
    harms: dict[str, Callable[[], None]] = {
        "missing": lambda: storage.delete(["journal/000000000002"]),
        "older": lambda: storage.delete(storage.list("journal/")),
        "other": lambda: storage.put("journal/000000000002", b"no record"),
    }
    harms[harm]()
    with pytest.raises(UnreadableStateError, match="journal"):
        open_journal(storage, folder(tmp_path))
