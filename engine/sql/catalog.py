"""Declared names of a script, as far as it has been read.

Limit the size of a plan.

    CREATE VIEW v1 AS SELECT * FROM s UNION ALL SELECT * FROM s;
    CREATE VIEW v2 AS SELECT * FROM v1 UNION ALL SELECT * FROM v1;   and so on, thirty times

is a short script with a plan of a billion relations. Shared relations are the same object, so they are measured once
and counted twice, without traversing all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TypeAlias

from engine.connectors.base import Table
from engine.errors import (
    DuplicateNameError,
    EngineError,
    MemoryTableError,
    ScriptRefused,
    TextPosition,
    TooLargeError,
    UnknownTableError,
    WrongDirectionError,
)
from engine.plan.tree import Node, inputs_of
from engine.schema import Schema
from engine.sql.scope import Relation


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A source table; `rows` is its scan with the generated columns. `dead_letters_at` and `late_rows_at` are the
    positions of the options that name tables for undecodable records and for its `late_rows`."""

    table: Table
    rows: Node
    dead_letters_at: TextPosition | None = None
    late_rows: str | None = None
    late_rows_at: TextPosition | None = None


@dataclass(frozen=True, slots=True)
class SinkTable:
    """A sink table; without columns it gets those of the first INSERT. `dead_letters_at` is the position of the option
    that names a table for refused rows."""

    table: Table
    columns: Schema | None
    dead_letters_at: TextPosition | None = None


@dataclass(frozen=True, slots=True)
class LookupTable:
    """A table whose rows are looked up by one column, its primary key."""

    table: Table
    columns: Schema
    key: str | None


@dataclass(frozen=True, slots=True)
class MemoryTable:
    """A named relation inside the script; `rows` is its INSERT."""

    columns: Schema
    rows: Node | None = None


@dataclass(frozen=True, slots=True)
class View:
    """A named query, from CREATE VIEW or CREATE TABLE AS."""

    relation: Relation


@dataclass(frozen=True, slots=True)
class RefusedDeclaration:
    """A declaration with an error; its uses cause no further errors."""


Entry: TypeAlias = SourceTable | SinkTable | LookupTable | MemoryTable | View | RefusedDeclaration


@dataclass(slots=True)
class Catalog:
    """Declared names (case-insensitive), and the source tables that are used."""

    entries: dict[str, tuple[str, Entry]] = field(default_factory=dict)
    read_tables: dict[str, Table] = field(default_factory=dict)

    def declare(self, name: str, entry: Entry, at: TextPosition | None) -> None:
        """Add a name; raise if it exists already."""
        if name.lower() in self.entries:
            raise DuplicateNameError(f"table {name!r} is declared twice", hint="give one another name", at=at)
        self.entries[name.lower()] = (name, entry)

    def stand_in(self, name: str, entry: View) -> None:
        """Let queries read a view instead of a refused table, so that errors in its columns are found, too."""
        self.entries.setdefault(name.lower(), (name, entry))

    def give_up(self, name: str) -> None:
        """Record that the declaration of a name was refused, unless it is declared."""
        self.entries.setdefault(name.lower(), (name, RefusedDeclaration()))

    def insert_refused(self, name: str) -> None:
        """Record that an INSERT was refused; no further error is reported for the memory table that it should have
        filled."""
        if isinstance(self._entry(name), MemoryTable):
            self.entries[name.lower()] = (name, RefusedDeclaration())

    def fill(self, name: str, rows: Node) -> None:
        """Set the rows of a memory table by its only INSERT."""
        spelled, entry = self.entries[name.lower()]
        if isinstance(entry, MemoryTable):
            self.entries[name.lower()] = (spelled, replace(entry, rows=rows))

    def find(self, name: str) -> Entry:
        """Return the entry of a name; raise for an unknown one."""
        entry = self._entry(name)
        if entry is None:
            names = [spelled for spelled, _ in self.entries.values()]
            near = get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "a table must be created before it is used"
            raise UnknownTableError(f"there is no table {name!r}", hint=hint)
        if isinstance(entry, RefusedDeclaration):
            raise BrokenTableError(name)
        return entry

    def find_lookup(self, name: str) -> LookupTable | None:
        """Return the lookup table of that name, if it is one."""
        entry = self._entry(name)
        if not isinstance(entry, LookupTable):
            return None
        self.read_tables[entry.table.name] = entry.table
        return entry

    def read(self, name: str) -> Relation:
        """Return the rows of a table or view, for a query that names it."""
        match self.find(name):
            case SourceTable(table, rows, _):
                self.read_tables[table.name] = table
                return Relation(rows)
            case View(relation):
                return relation
            case MemoryTable(_, None):
                raise MemoryTableError(
                    f"memory table {name!r} is read before anything is inserted into it",
                    hint="put the INSERT before the SELECT",
                )
            case MemoryTable(_, Node() as rows):
                return Relation(rows)
        raise WrongDirectionError(f"table {name!r} is a sink and cannot be read", hint="read its input")

    def _entry(self, name: str) -> Entry | None:
        _, entry = self.entries.get(name.lower(), (name, None))
        return entry


class Complaints:
    """Errors of a script, as far as it has been read."""

    def __init__(self) -> None:
        self._errors: list[EngineError] = []

    @contextmanager
    def collect(self, at: TextPosition | None = None) -> Iterator[None]:
        """Collect an error of the context and continue after it; one without a position gets `at`."""
        try:
            yield
        except ScriptRefused as refused:
            for complaint in refused.complaints:
                self.add(complaint, at)
        except EngineError as error:
            self.add(error, at)

    def add(self, error: EngineError, at: TextPosition | None = None) -> None:
        """Add an error, unless it is known already."""
        error.at = error.at or at
        # The same fault may be met more than once, as in a query that several others are made of.
        is_known = any(
            (noted.code, noted.at, noted.message) == (error.code, error.at, error.message) for noted in self._errors
        )
        if not is_known and not isinstance(error, BrokenTableError):
            self._errors.append(error)

    @property
    def errors(self) -> tuple[EngineError, ...]:
        """The errors so far, in the order they were met."""
        return tuple(self._errors)

    def raise_any(self) -> None:
        """Raise all errors of the script, if there are any."""
        if self._errors:
            raise ScriptRefused(self._errors)


@contextmanager
def errors_located(at: TextPosition | None) -> Iterator[None]:
    """Give this position to an error of the context that has none."""
    try:
        yield
    except EngineError as error:
        error.at = error.at or at
        raise


class BrokenTableError(EngineError):
    """Use of a table whose declaration was refused. Not reported again."""

    code = "sql.broken_table"


MAX_RELATIONS = 10_000
MAX_LEVELS = 150


def count_relations(node: Node) -> int:
    """Count the relations of a plan, counting shared ones each time. Raise TooLargeError if there are too many, or too
    many levels."""
    size, levels = _measure(node, {})
    if size > MAX_RELATIONS or levels > MAX_LEVELS:
        raise TooLargeError(
            f"the plan has {min(size, 10**9)} relations on {levels} levels",
            hint=f"at most {MAX_RELATIONS} and {MAX_LEVELS} are allowed; a view that is used twice counts twice",
        )
    return size


def _measure(node: Node, measured: dict[int, tuple[int, int]]) -> tuple[int, int]:
    measure = measured.get(id(node))
    if measure is None:
        inputs = [_measure(child, measured) for child in inputs_of(node)]
        measure = 1 + sum(size for size, _ in inputs), 1 + max((levels for _, levels in inputs), default=0)
        measured[id(node)] = measure
    return measure
