"""The sinks that are put to the test: how each table is declared, and how a correct user reads what is there.

A new sink is one more line in `TARGETS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pyarrow.json as pa_json
import pyarrow.parquet as pq

from engine.connectors.base import Table
from engine.delivery.faults import Point
from tests.chaos.events import SCHEMA, Numbers, numbers_of
from tests.connectors.tables import table


@dataclass(frozen=True, slots=True)
class Part:
    """Some rows that have become visible, in their order: the numbers of the events, and how many are not as they were
    made. Parts of one stream, in the order of their places, are the stream."""

    stream: str
    place: str
    numbers: Numbers
    wrong: int = 0


class View(Protocol):
    """What readers see of a target."""

    def new(self) -> Iterator[Part]:
        """What has become visible since it was last asked."""

    def leftovers(self) -> list[str]:
        """What should not lie about when nobody is at work any more."""


@dataclass(slots=True)
class Files:
    """Reads the files of a directory, each once; hidden ones are drafts. A file that has vanished is an error, since
    nothing here is ever restored."""

    folder: Path
    seen: dict[Path, int] = field(default_factory=dict)

    def new(self) -> Iterator[Part]:
        names = {path for path in self.folder.rglob("*.*") if path.is_file() and not path.name.startswith(".")}
        vanished = self.seen.keys() - names
        assert not vanished, f"{len(vanished)} files have vanished, such as {min(vanished)}"
        for path in sorted(names - self.seen.keys()):
            self.seen[path] = path.stat().st_size
            rows = pq.read_table(path) if path.suffix == ".parquet" else pa_json.read_json(path)
            yield Part(str(path.parent), path.name, *numbers_of(rows))

    def leftovers(self) -> list[str]:
        changed = [str(path) for path, size in self.seen.items() if path.stat().st_size != size]
        return changed + [str(path) for path in self.folder.rglob(".*") if path.is_file()]


@dataclass(slots=True)
class OneFile:
    """Reads a file that grows, once. While a driver is at work it may have a tail that is cut off again."""

    path: Path

    def new(self) -> Iterator[Part]:
        if self.path.exists():
            yield Part("", "", *numbers_of(pa_json.read_json(self.path)))

    def leftovers(self) -> list[str]:
        return []


@dataclass(frozen=True, slots=True)
class Place:
    """Where a loop works: a directory of its own, and the address of the server, when there is one."""

    root: Path
    address: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of target: its table, its view, and the server that it needs."""

    table: Callable[[Place], Table]
    view: Callable[[Place], View]
    server: Callable[[Path], AbstractContextManager[str]] = lambda root: nullcontext("")
    shows_only_committed: bool = True
    """Whether a reader who comes at any time sees nothing that is taken back."""
    shows_at_once: bool = True
    """Whether all of a committed epoch can be seen."""
    has_zombies: bool = True
    """Whether a driver that was replaced may still be alive. For a file that is appended to, nothing but the lock on
    the pipeline's state excludes that."""
    lacks: frozenset[Point] = frozenset()
    """The fault points that it never comes to."""


def _filesystem(form: str) -> Callable[[Place], Table]:
    def declare(place: Place) -> Table:
        path, by = place.root / "out", ("shard",)
        return table("filesystem", SCHEMA, path=path, type="sink", format=form, partitioning__fields=by)

    return declare


def _single_file(place: Place) -> Table:
    return table("single_file", SCHEMA, path=place.root / "out.json", type="sink", format="json")


TARGETS: Mapping[str, Kind] = {
    "filesystem": Kind(
        _filesystem("json"), lambda place: Files(place.root / "out"), lacks=frozenset({Point.WHILE_WRITING})
    ),
    "parquet": Kind(
        _filesystem("parquet"), lambda place: Files(place.root / "out"), lacks=frozenset({Point.WHILE_WRITING})
    ),
    "single_file": Kind(
        _single_file,
        lambda place: OneFile(place.root / "out.json"),
        shows_only_committed=False,
        has_zombies=False,
        lacks=frozenset({Point.BEFORE_DECISION, Point.AFTER_DECISION, Point.WHILE_PUBLISHING}),
    ),
}
