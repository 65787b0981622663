"""Column types for Python values: aware instants and durations, stored as microseconds.

Read which pipelines have changed since when. Triggers write it (`migrations/m0025_changes.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from pydantic import TypeAdapter
from sqlalchemy import BigInteger, Boolean, Column, Connection, Dialect, Integer, RowMapping, Table, Text, select
from sqlalchemy.types import TypeDecorator

from engine.jobs.decisions.spec import Upgrade
from engine.store.database import METADATA
from engine.values.epoch_report import Length as MicrosLength
from engine.values.epoch_report import OperatorFigures, SinkProgress, TableFigures
from engine.values.instants import from_micros, to_micros

RowValues: TypeAlias = RowMapping | Mapping[str, Any]
"""Values of a row by column name."""
_SINKS: TypeAdapter[Mapping[str, SinkProgress]] = TypeAdapter(Mapping[str, SinkProgress])
_OPERATORS: TypeAdapter[Mapping[str, OperatorFigures]] = TypeAdapter(Mapping[str, OperatorFigures])
_TABLES: TypeAdapter[Mapping[str, TableFigures]] = TypeAdapter(Mapping[str, TableFigures])
_UPGRADE: TypeAdapter[Upgrade] = TypeAdapter(Upgrade)
_LENGTHS: TypeAdapter[Mapping[str, timedelta]] = TypeAdapter(Mapping[str, MicrosLength])


class Instant(TypeDecorator[datetime]):
    """An aware datetime."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        """Convert to microseconds."""
        return None if value is None else to_micros(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        """Convert from microseconds."""
        return None if value is None else from_micros(value)


class Instants(TypeDecorator[tuple[datetime, ...]]):
    """Instants in order, as JSON."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: tuple[datetime, ...] | None, dialect: Dialect) -> str:
        """Convert to JSON text."""
        return json.dumps([to_micros(at) for at in value or ()])

    def process_result_value(self, value: str | None, dialect: Dialect) -> tuple[datetime, ...]:
        """Convert from JSON text; jobs of earlier versions have none."""
        return tuple(from_micros(at) for at in json.loads(value or "[]"))


class Length(TypeDecorator[timedelta]):
    """A duration."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: timedelta | None, dialect: Dialect) -> int | None:
        """Convert to microseconds."""
        return None if value is None else value // timedelta(microseconds=1)

    def process_result_value(self, value: int | None, dialect: Dialect) -> timedelta | None:
        """Convert from microseconds."""
        return None if value is None else timedelta(microseconds=value)


class Watermarks(TypeDecorator[Mapping[str, datetime | None]]):
    """Watermark of each source, as JSON."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Mapping[str, datetime | None] | None, dialect: Dialect) -> str:
        """Convert to JSON text."""
        return json.dumps({name: at and to_micros(at) for name, at in (value or {}).items()})

    def process_result_value(self, value: str | None, dialect: Dialect) -> Mapping[str, datetime | None]:
        """Convert from JSON text."""
        micros: dict[str, int | None] = json.loads(value or "{}")
        return {name: None if at is None else from_micros(at) for name, at in micros.items()}


class SinkFigures(TypeDecorator[Mapping[str, SinkProgress]]):
    """Completeness of each sink, as JSON."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Mapping[str, SinkProgress] | None, dialect: Dialect) -> str:
        """Convert to JSON text."""
        return _SINKS.dump_json(value or {}).decode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> Mapping[str, SinkProgress]:
        """Convert from JSON text; epochs of earlier versions have no figures of sinks."""
        return _SINKS.validate_json(value or "{}")


class FiguresOfTables(TypeDecorator[Mapping[str, TableFigures]]):
    """Figures of an epoch per table, as JSON."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Mapping[str, TableFigures] | None, dialect: Dialect) -> str:
        """Convert to JSON text, without None."""
        return _TABLES.dump_json(value or {}, exclude_none=True).decode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> Mapping[str, TableFigures]:
        """Convert from JSON text; epochs of earlier versions have no figures of tables."""
        return _TABLES.validate_json(value or "{}")


class FiguresOfOperators(TypeDecorator[Mapping[str, OperatorFigures]]):
    """Figures of an epoch per stateful operator, as JSON."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Mapping[str, OperatorFigures] | None, dialect: Dialect) -> str:
        """Convert to JSON text, without None."""
        return _OPERATORS.dump_json(value or {}, exclude_none=True).decode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> Mapping[str, OperatorFigures]:
        """Convert from JSON text; epochs of earlier versions have no figures of operators."""
        return _OPERATORS.validate_json(value or "{}")


class Lengths(TypeDecorator[Mapping[str, timedelta]]):
    """Named durations, as JSON."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Mapping[str, timedelta] | None, dialect: Dialect) -> str:
        """Convert to JSON text."""
        return _LENGTHS.dump_json(value or {}).decode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> Mapping[str, timedelta]:
        """Convert from JSON text; epochs of earlier versions have none."""
        return _LENGTHS.validate_json(value or "{}")


class Counts(TypeDecorator[Mapping[str, int]]):
    """Named counts, as JSON."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Mapping[str, int] | None, dialect: Dialect) -> str:
        """Convert to JSON text."""
        return json.dumps(dict(value or {}), separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Mapping[str, int]:
        """Convert from JSON text; epochs of earlier versions have none."""
        counts: dict[str, int] = json.loads(value or "{}")
        return counts


class Offsets(TypeDecorator[Mapping[str, object]]):
    """Positions of each source table, as JSON; None if unknown."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Mapping[str, object] | None, dialect: Dialect) -> str | None:
        """Convert to JSON text."""
        return None if value is None else json.dumps(dict(value))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Mapping[str, object] | None:
        """Convert from JSON text."""
        offsets: dict[str, object] | None = None if value is None else json.loads(value)
        return offsets


class Upgrades(TypeDecorator[Upgrade]):
    """Options of taking over the previous version's state, as JSON; None if it does not."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Upgrade | None, dialect: Dialect) -> str | None:
        """Convert to JSON text."""
        return None if value is None else _UPGRADE.dump_json(value).decode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> Upgrade | None:
        """Convert from JSON text."""
        return None if value is None else _UPGRADE.validate_json(value)


class Texts(TypeDecorator[tuple[str, ...]]):
    """Texts in order, as JSON."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: tuple[str, ...] | None, dialect: Dialect) -> str:
        """Convert to JSON text."""
        return json.dumps(list(value or ()))

    def process_result_value(self, value: str | None, dialect: Dialect) -> tuple[str, ...]:
        """Convert from JSON text."""
        return tuple(json.loads(value or "[]"))


class TextMap(TypeDecorator[Mapping[str, str]]):
    """Named texts, as JSON."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Mapping[str, str] | None, dialect: Dialect) -> str:
        """Convert to JSON text."""
        return json.dumps(dict(value or {}))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Mapping[str, str]:
        """Convert from JSON text."""
        texts: dict[str, str] = json.loads(value or "{}")
        return texts


CHANGES = Table(
    "changes",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("pipeline_id", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("deleted", Boolean, nullable=False),
)
CHANGE_LOG = Table(
    "change_log", METADATA, Column("id", Text, nullable=False), Column("forgotten", Integer, nullable=False)
)


@dataclass(frozen=True, slots=True)
class StoredChange:
    """Newest change of one pipeline; later changes have larger numbers."""

    number: int
    pipeline_id: str
    name: str
    deleted: bool


@dataclass(frozen=True, slots=True)
class ChangeLog:
    """Identity of the log, and the number up to which deletions are no longer known."""

    id: str
    forgotten: int


def log(connection: Connection) -> ChangeLog:
    """Return the identity of the event log and how much of it was forgotten."""
    return ChangeLog(*connection.execute(select(CHANGE_LOG.c.id, CHANGE_LOG.c.forgotten)).one())


def since(connection: Connection, number: int) -> Sequence[StoredChange]:
    """Return each pipeline that has changed since, in the order of their newest changes."""
    query = select(CHANGES).where(CHANGES.c.number > number).order_by(CHANGES.c.number)
    return [StoredChange(**row) for row in connection.execute(query).mappings()]
