"""Claim a state directory: the same query continues, another query is refused.

A driver starts with --state-dir=/state, where pipeline.json has the fingerprint f1 and `generation` is 3:

    query f1              writes 4 into `generation`, and continues after the last epoch
    query f2              refused; with `takes_over` it may convert what it can (`carry_over.py`); with --force
                          the state is moved to replaced/, and an empty one with a new lineage begins
    another run is alive  refused, since that run has the lock; if the control plane has raised the generation itself,
                          the new run is admitted, and the fence stops the other one (`delivery/fence.py`)
    an unfinished swap    is completed first (docs/decisions/states-are-swapped-whole.md)
    a moved state         its absolute paths are rewritten (`home.py`)
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from engine.checkpoints.doctor import examine
from engine.checkpoints.layout import StatePaths, read_json, read_text, unreadable, write_json, write_text
from engine.checkpoints.lineage import Lineage, new_id, read_lineage, write_lineage
from engine.checkpoints.relocate import bring_home
from engine.checkpoints.state_pointer import PREFIXES
from engine.checkpoints.swap import begin_swap, commit_swap, finish_swap, remove_scratch
from engine.delivery.open_files import OPEN_FILES
from engine.errors import ForeignStateError, OtherFormatError, OtherQueryError, StateInUseError, SupersededError
from engine.plan.identity.fingerprint import differ_in_format

_PARTS = {"logs", "savepoints", "lock", "generation", "lineage.json", "sinks", "watermarks", "intake"}
_PARTS |= {OPEN_FILES, "replaced", "staging", "owner.json", PREFIXES}


class StateLock:
    """The lock on a state directory. It ends when it is released, garbage-collected, or the process ends."""

    def __init__(self, handle: int) -> None:
        self._handle: int | None = handle

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __del__(self) -> None:
        self.release()


@dataclass(frozen=True, slots=True)
class StatefulQuery:
    """The query that a state belongs to, as recorded in its directory. `udfs` are its function files, by their names in
    errors; `objects` are the functions whose Python objects are stored, each with a text that identifies what can read
    them."""

    name: str
    sql: str
    fingerprint: str
    parallelism: int
    udfs: tuple[tuple[str, str], ...] = ()
    objects: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the content of `pipeline.json`; like states of earlier versions, it lacks functions and objects if
        there are none."""
        pairs = {"udfs": [list(file) for file in self.udfs], "objects": [list(kept) for kept in self.objects]}
        described = {**asdict(self), **pairs}
        return {name: part for name, part in described.items() if part or name not in pairs}

    def has_state(self, recorded: Mapping[str, object]) -> bool:
        """Whether a state belongs to this query, according to what is recorded in it."""
        objects = self.to_json().get("objects")
        return recorded.get("fingerprint") == self.fingerprint and recorded.get("objects", objects) == objects


@dataclass(frozen=True, slots=True)
class Claim:
    """A claimed state: its lineage with parents, its generation, and the number of its partitions."""

    lineage: str
    parents: tuple[tuple[str, int], ...]
    generation: int
    parallelism: int
    owner: str = field(default="", compare=False)
    """The id of this state directory as an owner of targets."""
    is_foreign: bool = field(default=False, compare=False)
    """Whether the state still belongs to another query, and has to be converted before anything runs."""
    lock: StateLock | None = field(default=None, compare=False, repr=False)

    def release(self) -> None:
        """Release the state for another run."""
        if self.lock:
            self.lock.release()


def claim(
    paths: StatePaths,
    query: StatefulQuery,
    *,
    generation: int | None = None,
    force: bool = False,
    takes_over: bool = False,
    owner: str | None = None,
    new_lineage: Callable[[], str] = new_id,
) -> Claim:
    """Claim the state for one more run. Without `generation`, the run gets the last one plus one, and another run that
    is still active is an error; a caller that passes one has checked that. With `force`, another query or a damaged
    state starts empty, and the old state is moved aside. A caller that `takes_over` may claim the state of another
    query, and nothing is changed yet. `owner` is the owner id of a new directory."""
    _check_is_state(paths)
    paths.root.mkdir(parents=True, exist_ok=True)
    lock = _lock(paths, is_fenced=generation is not None)
    try:
        finish_swap(paths)
        remove_scratch(paths)
        relation = _relation(paths, query, force=force, takes_over=takes_over)
        run_generation = _take_generation(paths, generation)
        if relation == "given up":
            _start_empty(paths, query, Lineage(new_lineage()))
        is_foreign = relation == "taken over"
        history, width = _as_it_is(paths, query.parallelism) if is_foreign else _settle(paths, query, new_lineage)
        bring_home(paths.checkpoint)
        owner_id = _owner(paths, owner or new_id())
    except BaseException:
        if lock:
            lock.release()
        raise
    return Claim(history.id, history.parents, run_generation, width, owner_id, is_foreign, lock)


def _owner(paths: StatePaths, new_owner: str) -> str:
    """Return the id that marks the targets of this state. A swap of the state keeps it, since the pipeline is the
    same."""
    recorded = read_json(paths.owner)
    if recorded is None:
        write_json(paths.owner, {"owner": new_owner})
        return new_owner
    if not isinstance(owner := recorded.get("owner"), str):
        raise unreadable(paths.owner)
    return owner


def _settle(paths: StatePaths, query: StatefulQuery, new_lineage: Callable[[], str]) -> tuple[Lineage, int]:
    """Record which query the state belongs to. An existing parallelism stays, since the state is laid out for it."""
    recorded = read_json(paths.pipeline) or {}
    width = recorded.get("parallelism")
    if isinstance(width, int):
        query = replace(query, parallelism=width)
    if recorded != query.to_json():
        write_json(paths.pipeline, query.to_json())
    if not paths.lineage.exists():
        write_lineage(paths.lineage, Lineage(new_lineage()))
    return read_lineage(paths.lineage), query.parallelism


def _check_is_state(paths: StatePaths) -> None:
    """Raise ForeignStateError for a directory with other content, which is neither an empty state nor may be written
    to."""
    if paths.pipeline.exists() or not paths.root.exists():
        return
    if not paths.root.is_dir():
        raise ForeignStateError(f"{paths.root} is a file", hint="give the state a directory of its own")
    strange = sorted(entry.name for entry in paths.root.iterdir() if entry.name not in _PARTS)
    if strange and strange != ["incoming"]:
        raise ForeignStateError(
            f"{paths.root} is not a state directory: it holds {strange[0]!r} and no {paths.pipeline.name}",
            hint="give the state another directory: an empty one, or one that does not exist yet",
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
            f"the state in {paths.root} is in use by another run",
            hint="stop that run, or give another --state-dir",
        ) from None
    return StateLock(handle)


def _take_generation(paths: StatePaths, assigned: int | None) -> int:
    text = read_text(paths.generation) if paths.generation.exists() else "0"
    if not text.isdigit():
        raise unreadable(paths.generation)
    newest = int(text)
    generation = newest + 1 if assigned is None else assigned
    if generation < newest:
        raise SupersededError(
            f"generation {generation} was replaced by {newest}", hint="nothing is lost: the newer run continues"
        )
    write_text(paths.generation, str(generation))
    return generation


def _as_it_is(paths: StatePaths, width: int) -> tuple[Lineage, int]:
    """Return the lineage and the parallelism that are recorded for another query's state; `width` if none is recorded
    yet."""
    recorded = (read_json(paths.pipeline) or {}).get("parallelism")
    return read_lineage(paths.lineage), recorded if isinstance(recorded, int) else width


def _relation(
    paths: StatePaths, query: StatefulQuery, *, force: bool, takes_over: bool
) -> Literal["own", "given up", "taken over"]:
    """Return how the existing state relates to the query."""
    findings = examine(paths)
    if findings and not force:
        raise findings[0].error()
    if findings:
        return "given up"
    recorded = read_json(paths.pipeline)
    if recorded is None or query.has_state(recorded):
        return "own"
    if takes_over:
        return "taken over"
    if not force and differ_in_format(str(recorded.get("fingerprint")), query.fingerprint):
        raise OtherFormatError(
            f"the state in {paths.root} was written by another version of the engine",
            hint="go on with that version, or start empty with --force, which keeps the old state aside",
        )
    if not force:
        raise OtherQueryError(
            f"the state in {paths.root} belongs to another query, that of {recorded.get('name')!r}",
            hint="see with `arroyo plan` what can be kept, and go on with --upgrade; or give another --state-dir, or "
            "start empty with --force, which keeps the old state aside",
        )
    return "given up"


def _start_empty(paths: StatePaths, query: StatefulQuery, lineage: Lineage) -> None:
    staging = begin_swap(paths)
    for folder in (paths.checkpoint, paths.sinks, paths.watermarks):
        (staging / folder.name).mkdir()
    write_json(staging / paths.pipeline.name, query.to_json())
    write_lineage(staging / paths.lineage.name, lineage)
    commit_swap(paths)
