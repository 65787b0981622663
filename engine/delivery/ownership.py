"""Owner marks of targets, so that a pipeline does not overwrite the output of another one.

The control plane refuses a second writer if it knows both (`store/pipelines/versions.py`). Marks are for writers that
it does not know: pipelines of another control plane, and `arroyo run`. Pipeline b is to write the file x:

    the mark of x    x contains    b's ledger    b
    b                any rows      any           writes; also after a crash, a restore and --force
    none             rows          has epochs    marks x and writes: the output is older than marks
    none             rows          is empty      stops: the rows are not known to be b's
    none             no rows       is empty      marks x and writes
    a                rows          any           stops
    a                no rows       is empty      marks x and writes, if the control plane says that a has given x up

With `sink.existing = 'take_over'` it marks x and writes instead of stopping; but not if its own ledger relies on bytes
that another owner may have replaced. A directory to which files are only added has no rows that could be lost.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from engine.delivery.disk_errors import writing
from engine.delivery.durable import create_durably, replace_durably
from engine.errors import ForeignTargetError

MARK = ".arroyo-owner"
"""Name of a directory's mark, and suffix of a file's mark; readers of files ignore such names."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Owner of targets: the id of a pipeline (that of its state directory), and its name. `predecessors` are the ids of
    pipelines that have handed their targets over to it."""

    id: str
    name: str
    predecessors: tuple[str, ...] = ()
    is_passing: bool = False
    """Whether its state is deleted at its end, so that the mark would name an unknown owner."""


@dataclass(frozen=True, slots=True)
class Finding:
    """State of a target before a sink writes an epoch: whether the sink's ledger has entries, and whether the target
    has rows that would be overwritten."""

    place: str
    has_ledger: bool
    would_lose: bool


class Mark(Protocol):
    """The mark of one target."""

    def read(self) -> bytes | None:
        """Return the content of the mark; None if there is none."""

    def create(self, content: bytes) -> bool:
        """Create the mark; return False if it exists already."""

    def replace(self, content: bytes) -> None:
        """Replace the mark."""


@dataclass(frozen=True, slots=True)
class MarkFile:
    """A mark in a file of this machine."""

    path: Path

    def read(self) -> bytes | None:
        """Return the content of the file."""
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None

    def create(self, content: bytes) -> bool:
        """Make the file."""
        with writing(self.path):
            return create_durably(self.path, content)

    def replace(self, content: bytes) -> None:
        """Replace the file."""
        with writing(self.path):
            replace_durably(self.path, content)


def mark_of_file(path: Path) -> MarkFile:
    """Return the mark of a single file, which is next to it."""
    return MarkFile(path.with_name(f".{path.name}{MARK}"))


def check(marked: Owner | None, owner: Owner, finding: Finding, *, takes_over: bool) -> None:
    """Raise ForeignTargetError if the target has another owner and must not change it."""
    if marked is not None and marked.id == owner.id:
        return
    if marked is None:
        is_allowed = takes_over or finding.has_ledger or not finding.would_lose
    elif finding.would_lose:
        is_allowed = takes_over and not finding.has_ledger
    else:
        is_allowed = takes_over or marked.id in owner.predecessors
    if not is_allowed:
        raise _foreign(marked, owner, finding)


def take_possession(mark: Mark, owner: Owner, look: Callable[[], Finding], *, takes_over: bool) -> None:
    """Check that the target belongs to this owner, and mark it; raise ForeignTargetError if it does not. `look` is
    called only if the mark is not the owner's."""
    while (marked := _read(mark)) is None or marked.id != owner.id:
        check(marked, owner, look(), takes_over=takes_over)
        content = json.dumps({"owner": owner.id, "pipeline": owner.name}).encode()
        if owner.is_passing:
            return
        if marked is not None:
            mark.replace(content)
            return
        # of two that meet no mark one makes it, and the other looks again
        if mark.create(content):
            return


def _read(mark: Mark) -> Owner | None:
    content = mark.read()
    if content is None:
        return None
    with suppress(ValueError, KeyError, TypeError):
        fields = json.loads(content)
        return Owner(str(fields["owner"]), str(fields["pipeline"]))
    return Owner("", "?")


def _foreign(marked: Owner | None, owner: Owner, finding: Finding) -> ForeignTargetError:
    if marked is None:
        message = f"{finding.place} holds rows that this pipeline has not written"
    elif marked.name == owner.name:
        message = f"{finding.place} belongs to another state of pipeline {marked.name!r} ({marked.id})"
    else:
        message = f"{finding.place} belongs to pipeline {marked.name!r} ({marked.id})"
    if finding.has_ledger and finding.would_lose:
        hint = "this pipeline has written there before; restore what was there, or start with a fresh state directory"
    else:
        hint = "write to another place, or take this one over with the table's option 'sink.existing' = 'take_over'"
    return ForeignTargetError(message, hint=hint)
