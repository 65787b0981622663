"""Tables as the compiler would make them, and readers and writers that stand in for the runtime."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from engine.connectors import find_connector, sink_kind_of, source_kind_of
from engine.connectors.base import Sink, SinkContext, Source, Table
from engine.connectors.kinds import Connector
from engine.connectors.options import WithOption
from engine.connectors.testing import Row, between, epoch, positions, rows, start, take
from engine.connectors.testing import table as table_with
from engine.errors import TextPosition
from engine.schema import Field, Schema, arrow_schema
from engine.types import BIGINT, TEXT
from engine.values.option_values import OptionValue

__all__ = ("Row", "between", "epoch", "positions", "rows", "start", "take")

NUMBERS = Schema((Field("n", BIGINT, nullable=False), Field("name", TEXT)))


def given(**options: OptionValue | Path) -> list[WithOption]:
    """Options as if they had been typed, one per column; two underscores stand for a dot."""
    return [
        WithOption(
            name.replace("__", "."), str(value) if isinstance(value, Path) else value, TextPosition(1, column + 1)
        )
        for column, (name, value) in enumerate(options.items())
    ]


def connector(name: str) -> Connector:
    declaration = find_connector(name)
    assert declaration is not None
    return declaration


def table(
    kind: str, schema: Schema | None = None, metadata: Mapping[str, str] | None = None, **options: OptionValue | Path
) -> Table:
    """A table of a connector; the schema may be the connector's own."""
    typed = {option.name: option.value for option in given(**options)}
    return table_with(connector(kind), schema, typed, metadata)


def source(of: Table) -> Source:
    return source_kind_of(of).open(of)


def sink(of: Table, directory: Path) -> Sink:
    directory.mkdir(parents=True, exist_ok=True)
    return sink_kind_of(of).open(of, SinkContext(directory))


def read_all(of: Source, max_rows: int | None = None, tasks: int = 1) -> list[Row]:
    ends = positions(of, max_rows)
    return [row for begin, end in pairwise(ends) for row in rows(between(of, begin, end, tasks))]


def batch(schema: Schema, *values: tuple[object, ...]) -> pa.RecordBatch:
    columns = list(zip(*values, strict=True)) if values else [()] * len(schema)
    arrow = arrow_schema(schema)
    return pa.RecordBatch.from_arrays([pa.array(c, f.type) for c, f in zip(columns, arrow, strict=True)], schema=arrow)
