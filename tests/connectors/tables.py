"""Tables as the compiler would make them, and readers and writers that stand in for the runtime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

from engine.connectors import find_connector, sink_kind_of, source_kind_of
from engine.connectors.base import Position, Sink, SinkContext, Source, Table
from engine.connectors.kinds import Connector
from engine.connectors.options import WithOption, read_table_options
from engine.delivery.epoch import Epoch
from engine.errors import TextPosition
from engine.schema import Field, Schema, arrow_schema
from engine.types import BIGINT, TEXT
from engine.values.option_values import OptionValue

NUMBERS = Schema((Field("n", BIGINT, nullable=False), Field("name", TEXT)))
Row = dict[str, Any]


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
    read = read_table_options(connector(kind), given(**options), table="t", at=TextPosition(1, 1))
    columns = schema or connector(kind).schema
    assert columns is not None
    return Table(
        name="t",
        connector=kind,
        direction=read.direction,
        options=read.connector,
        schema=columns,
        format=read.format,
        metadata=tuple((metadata or {}).items()),
        bad_data=read.general.bad_data,
        idle_time=read.general.idle_after,
        quiet_after=read.general.quiet_after,
        dead_letter_directory=read.general.dead_letter_path,
        dead_letter_table=read.general.dead_letter_table,
    )


def source(of: Table) -> Source:
    return source_kind_of(of).open(of)


def sink(of: Table, directory: Path) -> Sink:
    directory.mkdir(parents=True, exist_ok=True)
    return sink_kind_of(of).open(of, SinkContext(directory))


def start(of: Source) -> dict[str, Position]:
    return {partition: of.start(partition) for partition in of.partitions()}


def between(
    of: Source, first: Mapping[str, Position], last: Mapping[str, Position], tasks: int = 1
) -> Iterator[pa.RecordBatch]:
    for partition, end in last.items():
        for piece in of.slices(partition, first[partition], end, tasks):
            for chunk in of.read(piece):
                yield chunk.rows


def positions(of: Source, max_rows: int | None) -> list[dict[str, Position]]:
    """Where the epochs of a bounded source end, its start first."""
    ends = [start(of)]
    while not all(of.is_finished(partition, at) for partition, at in ends[-1].items()):
        ends.append(dict(of.advance(ends[-1], max_rows)))
        assert len(ends) < 10_000
    return ends


def rows(batches: Iterator[pa.RecordBatch] | Sequence[pa.RecordBatch]) -> list[Row]:
    return [row for batch in batches for row in batch.to_pylist()]


def read_all(of: Source, max_rows: int | None = None, tasks: int = 1) -> list[Row]:
    ends = positions(of, max_rows)
    return [row for begin, end in pairwise(ends) for row in rows(between(of, begin, end, tasks))]


def batch(schema: Schema, *values: tuple[object, ...]) -> pa.RecordBatch:
    columns = list(zip(*values, strict=True)) if values else [()] * len(schema)
    arrow = arrow_schema(schema)
    return pa.RecordBatch.from_arrays([pa.array(c, f.type) for c, f in zip(columns, arrow, strict=True)], schema=arrow)


def epoch(number: int, lineage: str = "one", generation: int = 1, parents: tuple[tuple[str, int], ...] = ()) -> Epoch:
    return Epoch(number, lineage, generation, f"offsets-{number}", parents)


def take(of: Sink, epoch: Epoch, *tasks: Sequence[pa.RecordBatch]) -> None:
    """An epoch as the runtime does it: the tasks write, the driver commits."""
    messages = []
    for number, batches in enumerate(tasks):
        writer = of.open(epoch, number)
        for record_batch in batches:
            writer.write(record_batch)
        messages.append(writer.close())
    of.commit(epoch, messages)
