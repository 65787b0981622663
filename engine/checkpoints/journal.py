"""The journal of a state directory in a bucket: how a run opens it, appends to it, and notices that it was replaced.

    run P   claim 41, change 42, change 43, and sleeps
    run Q   reads 41 to 43, creates 44 as its claim, puts the files into an empty folder, and continues: change 45
    run P   wakes, and creates 44: it is taken, and P ends with SupersededError before it writes anything else

See docs/decisions/a-state-in-a-bucket-is-a-journal.md.
"""

from __future__ import annotations

import os
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from engine.checkpoints.journal_files import Signature, changes_since, scan
from engine.checkpoints.journal_lease import LEASE, Lease, claim_in, lock_path, wait_until_free
from engine.checkpoints.journal_records import (
    BrokenRecordError,
    JournaledFile,
    Record,
    digest_of,
    from_bytes,
    to_bytes,
)
from engine.delivery.mirrored import mirrored
from engine.delivery.storage import Storage
from engine.errors import (
    StateBucketUnavailableError,
    StateInUseError,
    SupersededError,
    UnreadableStateError,
    message_of,
)

_RECORDS, _SNAPSHOTS, _BLOBS = "journal", "snapshots", "blobs"
_DIGITS = 12
SNAPSHOT_EVERY = 100
"""Number of records from one snapshot to the next."""
_CLAIMS_KEPT = 1000
_AT_ONCE = 8
_READS = 5
"""Number of attempts to read a journal that its run shortens at the same time."""
_PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Seconds between attempts to append while the bucket does not answer. Each attempt repeats its request itself."""


@dataclass(frozen=True, slots=True)
class JournaledState:
    """The content of a journal: the number of its last record, the files after it, the numbers of its claims, and the
    number of its newest snapshot."""

    position: int
    files: Mapping[str, JournaledFile]
    claims: tuple[int, ...]
    snapshot: int


@dataclass(slots=True)
class Journal:
    """The journal of a run that has claimed it. Several threads may append."""

    storage: Storage
    root: Path
    state: JournaledState
    lease: Lease
    wait: Callable[[float], None] = time.sleep
    _signatures: dict[str, Signature] = field(default_factory=dict)
    _unclear: tuple[bytes, Record, dict[str, Signature]] | None = None
    _guard: threading.RLock = field(default_factory=threading.RLock)

    def append(self) -> None:
        """Store what has changed below the folder since the last record; without changes send no request."""
        with self._guard:
            if self._unclear is not None:
                self._send(*self._unclear)
            changes = changes_since(self.root, self._signatures, self._keep_blob, self.wait)
            if not changes.files and not changes.removed:
                return
            record = Record("change", secrets.token_hex(8), changes.files, changes.removed)
            self._send(to_bytes(record), record, dict(changes.signatures))
            if self.state.position - self.state.snapshot >= SNAPSHOT_EVERY:
                self._write_snapshot()

    def look(self) -> None:
        """Raise SupersededError if another run has claimed the journal."""
        with self._guard:
            if self._unclear is not None:
                self._send(*self._unclear)
            if self.storage.get(_record_name(self.state.position + 1)) is not None:
                raise self._superseded()

    def refuse_lost(self) -> None:
        """Raise SupersededError if another run is known to have the state; send no request."""
        if self.lease.is_lost:
            raise self._superseded()

    def _send(self, content: bytes, record: Record, signatures: dict[str, Signature]) -> None:
        """Create the next record. If the answer remains unknown, the same bytes are sent again before any others."""
        self.refuse_lost()
        self._unclear = (content, record, signatures)
        position = self.state.position + 1
        for pause in (*_PAUSES, None):
            try:
                version = self.storage.create(_record_name(position), content)
                break
            except StateBucketUnavailableError:
                if pause is None:
                    raise
                self.wait(pause)
        if version is None:
            raise self._superseded()
        self._unclear = None
        self._signatures = signatures
        # contents are on this disk: only what identifies them is kept in memory
        files = _without_contents(record.applied_to(self.state.files))
        self.state = replace(self.state, position=position, files=files)

    def _keep_blob(self, digest: str, path: Path) -> str:
        """Store a file under a name that has the number of this run's claim: a run that was replaced removes only blobs
        of its own time."""
        for file in self.state.files.values():
            if file.sha256 == digest and file.blob is not None:
                return file.blob
        blob = f"{self.state.claims[-1]:0{_DIGITS}d}-{digest}"
        self.storage.put(f"{_BLOBS}/{blob}", path)
        return blob

    def _write_snapshot(self) -> None:
        """Write all files after the newest record, then remove what no start needs. If a file has changed since that
        record, a later one does it."""
        state, files = self.state, dict[str, JournaledFile]()
        for name, file in state.files.items():
            if file.blob is not None:
                files[name] = file
                continue
            try:
                content = (self.root / name).read_bytes()
            except FileNotFoundError:
                return
            if digest_of(content) != file.sha256:
                return
            files[name] = replace(file, content=content)
        claims = state.claims[-_CLAIMS_KEPT:]
        record = Record("snapshot", secrets.token_hex(8), files, (), claims)
        self.storage.put(_snapshot_name(state.position), to_bytes(record))
        self.state = replace(state, snapshot=state.position, claims=claims)
        remove_old(self.storage, self.state)

    def _superseded(self) -> SupersededError:
        return SupersededError(
            f"another run has taken over the state in {self.storage}", hint="nothing is lost: the newer run continues"
        )


def read_journal(storage: Storage) -> JournaledState:
    """Return the content of a journal; its last record has the number 0 if it is empty."""
    for _ in range(_READS):
        names = storage.list(f"{_RECORDS}/")
        # listed after the records: a snapshot that is written meanwhile has the deleted ones
        snapshot = max(map(_number, storage.list(f"{_SNAPSHOTS}/")), default=0)
        numbers = sorted(number for number in map(_number, names) if number > snapshot)
        if numbers and numbers != list(range(snapshot + 1, numbers[-1] + 1)):
            raise _damaged(storage, f"a record before {numbers[-1]} is missing")
        records = _read_all(storage, snapshot, numbers)
        if records is None:
            continue  # shortened in the meantime
        files: dict[str, JournaledFile] = {}
        claims: list[int] = []
        for number, record in records:
            files = record.applied_to(files)
            claims += [*record.claims, *([number] if record.kind == "claim" else [])]
        return JournaledState(numbers[-1] if numbers else snapshot, files, tuple(claims), snapshot)
    raise _damaged(storage, "its newest snapshot cannot be read")


def _read_all(storage: Storage, snapshot: int, numbers: list[int]) -> list[tuple[int, Record]] | None:
    wanted = [(snapshot, _snapshot_name(snapshot))] if snapshot else []
    wanted += [(number, _record_name(number)) for number in numbers]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = list(pool.map(lambda each: storage.get(each[1]), wanted))
    records = []
    for (number, name), stored in zip(wanted, found, strict=True):
        if stored is None:
            return None
        try:
            records.append((number, from_bytes(stored.content)))
        except BrokenRecordError as error:
            raise _damaged(storage, f"{name} is no record") from error
    return records


def remove_old(storage: Storage, state: JournaledState) -> None:
    """Remove records and snapshots before the newest snapshot, and blobs that no file needs. Claims stay, so that a run
    that was replaced finds its number taken. So do blobs of later claims: this run may have been replaced itself."""
    records = [name for name in storage.list(f"{_RECORDS}/") if _number(name) <= state.snapshot]
    old = [name for name in records if _number(name) not in state.claims]
    old += [name for name in storage.list(f"{_SNAPSHOTS}/") if _number(name) < state.snapshot]
    needed = {f"{_BLOBS}/{file.blob}" for file in state.files.values()}
    blobs = storage.list(f"{_BLOBS}/")
    old += [name for name in blobs if name not in needed and _number(name.partition("-")[0]) <= state.claims[-1]]
    if old:
        storage.delete(old)


def put_into(storage: Storage, state: JournaledState, root: Path) -> None:
    """Write the files of a state into an empty folder."""

    def write(item: tuple[str, JournaledFile]) -> None:
        name, file = item
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if file.blob is None:
            path.write_bytes(file.content)
        else:
            with storage.open_range(f"{_BLOBS}/{file.blob}") as blob, path.open("wb") as copy:
                shutil.copyfileobj(blob, copy)
            if digest_of(path.read_bytes()) != file.sha256:
                raise _damaged(storage, f"the content of {name} has changed")
        os.utime(path, ns=(file.modified_ns, file.modified_ns))

    try:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(write, state.files.items()))
    except FileNotFoundError as error:
        raise _damaged(storage, f"{message_of(error)} is missing") from error


def open_journal(storage: Storage, root: Path, seconds: float = LEASE.total_seconds()) -> Journal:
    """Claim a journal and put its files into an empty folder. Raise StateInUseError if its run is alive, or another one
    claims it at the same time."""
    seen = wait_until_free(storage)
    state = read_journal(storage)
    position = state.position + 1
    if seen is not None and claim_in(seen) >= position:
        raise _damaged(storage, f"record {claim_in(seen)}, which its lease names, is missing")
    if storage.create(_record_name(position), to_bytes(Record("claim", secrets.token_hex(8)))) is None:
        raise StateInUseError(
            f"another run uses the state in {storage}, or has just taken it",
            hint="stop that run, or give another --state-dir",
        )
    state = replace(state, position=position, claims=(*state.claims, position))
    lease = Lease(storage, position, seconds, lock_path(storage))
    lease.take(seen)
    try:
        put_into(storage, state, root)
        state = replace(state, files=_without_contents(state.files))
        return Journal(storage, root, state, lease, _signatures=scan(root))
    except BaseException:
        lease.release()
        raise


@contextmanager
def journaled(storage: Storage, root: Path, seconds: float = LEASE.total_seconds()) -> Iterator[Journal]:
    """Let this process work in an empty folder on the state that a journal has. At the end the last changes are
    appended, and the next run may start."""
    journal = open_journal(storage, root, seconds)
    try:
        with mirrored(root, journal):
            yield journal
            journal.append()
    finally:
        journal.lease.release()


def _without_contents(files: Mapping[str, JournaledFile]) -> dict[str, JournaledFile]:
    return {name: replace(file, content=b"") for name, file in files.items()}


def _damaged(storage: Storage, fault: str) -> UnreadableStateError:
    return UnreadableStateError(
        f"the journal in {storage} is damaged: {fault}", hint="put it back from a copy, or start with another prefix"
    )


def _number(name: str) -> int:
    number = name.rpartition("/")[2]
    return int(number) if number.isdigit() else 0


def _record_name(number: int) -> str:
    return f"{_RECORDS}/{number:0{_DIGITS}d}"


def _snapshot_name(number: int) -> str:
    return f"{_SNAPSHOTS}/{number:0{_DIGITS}d}"
