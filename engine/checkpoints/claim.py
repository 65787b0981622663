"""Taking possession of a state directory: the same query goes on, another one is refused."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from engine.checkpoints.doctor import examine
from engine.checkpoints.layout import StatePaths, read_json, read_text, unreadable, write_json, write_text
from engine.checkpoints.lineage import Lineage, new_id, read_lineage, write_lineage
from engine.checkpoints.swap import begin_swap, commit_swap, finish_swap
from engine.delivery.open_files import OPEN_FILES
from engine.errors import ForeignStateError, OtherFormatError, OtherQueryError, StateInUseError, SupersededError
from engine.plan.fingerprint import differ_in_format

_OURS = {"logs", "savepoints", "lock", "generation", "lineage.json", "sinks", "watermarks"}
_OURS |= {OPEN_FILES, "replaced", "staging"}


class StateLock:
    """The lock on a state directory; it is let go when this is released, forgotten, or the process ends."""

    def __init__(self, handle: int) -> None:
        self._handle: int | None = handle

    def release(self) -> None:
        """Let go; doing it again does nothing."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __del__(self) -> None:
        self.release()


@dataclass(frozen=True, slots=True)
class Claim:
    """What a run holds: its lineage with those before it, its generation, and the width of the state."""

    lineage: str
    parents: tuple[tuple[str, int], ...]
    generation: int
    parallelism: int
    lock: StateLock | None = field(default=None, compare=False, repr=False)

    def release(self) -> None:
        """Let another run have the state."""
        if self.lock:
            self.lock.release()


def claim(
    paths: StatePaths,
    *,
    name: str,
    sql: str,
    fingerprint: str,
    parallelism: int,
    generation: int | None = None,
    force: bool = False,
    new_lineage: Callable[[], str] = new_id,
) -> Claim:
    """Hold the state for one more run. Without a generation it is one above the last, and another run that is still at
    work is an error; with one, the caller has seen to that. With `force` another query, or a damaged state, starts
    empty, and the old state is kept aside."""
    _check_it_is_ours(paths)
    paths.root.mkdir(parents=True, exist_ok=True)
    lock = _lock(paths, is_fenced=generation is not None)
    try:
        finish_swap(paths)
        is_to_start_empty = _is_to_start_empty(paths, fingerprint, force=force)
        mine = _take_generation(paths, generation)
        content: dict[str, str | int] = {
            "name": name,
            "sql": sql,
            "fingerprint": fingerprint,
            "parallelism": parallelism,
        }
        if is_to_start_empty:
            _start_empty(paths, content, Lineage(new_lineage()))
        history, width = _settle(paths, content, new_lineage)
    except BaseException:
        if lock:
            lock.release()
        raise
    return Claim(history.id, history.parents, mine, width, lock)


def _settle(paths: StatePaths, content: dict[str, str | int], new_lineage: Callable[[], str]) -> tuple[Lineage, int]:
    """Write down what the state belongs to; the width that it has already stays."""
    known = read_json(paths.pipeline) or {}
    width = known.get("parallelism")
    if isinstance(width, int):
        content = {**content, "parallelism": width}
    if known != content:
        write_json(paths.pipeline, content)
    if not paths.lineage.exists():
        write_lineage(paths.lineage, Lineage(new_lineage()))
    return read_lineage(paths.lineage), int(content["parallelism"])


def _check_it_is_ours(paths: StatePaths) -> None:
    """A directory with other things in it must not be littered, nor taken for an empty state."""
    if paths.pipeline.exists() or not paths.root.exists():
        return
    if not paths.root.is_dir():
        raise ForeignStateError(f"{paths.root} is a file", hint="name a directory of its own for the state")
    strange = sorted(entry.name for entry in paths.root.iterdir() if entry.name not in _OURS)
    if strange and strange != ["incoming"]:
        raise ForeignStateError(
            f"{paths.root} is not a state directory: it holds {strange[0]!r} and no {paths.pipeline.name}",
            hint="name another directory for the state, an empty one or one that is not there yet",
        )


def _lock(paths: StatePaths, *, is_fenced: bool) -> StateLock | None:
    handle = os.open(paths.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        if is_fenced:
            return None
        raise StateInUseError(
            f"another run works on the state in {paths.root}",
            hint="stop it, or give another --state-dir",
        ) from None
    return StateLock(handle)


def _take_generation(paths: StatePaths, wanted: int | None) -> int:
    text = read_text(paths.generation) if paths.generation.exists() else "0"
    if not text.isdigit():
        raise unreadable(paths.generation)
    newest = int(text)
    mine = newest + 1 if wanted is None else wanted
    if mine < newest:
        raise SupersededError(
            f"generation {mine} was replaced by {newest}", hint="nothing is lost: the newer run goes on"
        )
    write_text(paths.generation, str(mine))
    return mine


def _is_to_start_empty(paths: StatePaths, fingerprint: str, *, force: bool) -> bool:
    findings = examine(paths)
    if findings and not force:
        raise findings[0].error()
    if findings:
        return True
    known = read_json(paths.pipeline)
    if known is None or known.get("fingerprint") == fingerprint:
        return False
    if not force and differ_in_format(str(known.get("fingerprint")), fingerprint):
        raise OtherFormatError(
            f"the state in {paths.root} was kept by another version of the engine",
            hint="go on with that version, or start empty with --force, which keeps the old state aside",
        )
    if not force:
        raise OtherQueryError(
            f"the state in {paths.root} belongs to another query, that of {known.get('name')!r}",
            hint="give another --state-dir, or start empty with --force, which keeps the old state aside",
        )
    return True


def _start_empty(paths: StatePaths, content: Mapping[str, object], lineage: Lineage) -> None:
    staging = begin_swap(paths)
    for folder in (paths.checkpoint, paths.sinks, paths.watermarks):
        (staging / folder.name).mkdir()
    write_json(staging / paths.pipeline.name, content)
    write_lineage(staging / paths.lineage.name, lineage)
    commit_swap(paths)
