"""Read some rows from the beginning of a table, without a job. Writes nothing, and commits no position."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from engine.connectors import source_kind_of
from engine.connectors.base import HasMovingStart, Source, Table
from engine.connectors.secret_values import fill_in
from engine.values.start_positions import EARLIEST

if TYPE_CHECKING:
    from engine.connectors.base import Chunk

MOST_BYTES = 4 * 1024 * 1024
"""Size of a sample after which no more rows are read."""


def sample(table: Table, rows: int) -> Iterator[Chunk]:
    """Yield about that many first rows of a source, unless they are too large. Raise the errors of a run."""
    form = table.format and fill_in(table.format, os.environ)
    table = replace(table, options=fill_in(table.options, os.environ), format=form, start=EARLIEST)
    kind = source_kind_of(table)
    if kind.receive is None:
        yield from _sample(kind.open(table), rows)
        return
    from engine.connectors.intake.trial import receive_some  # noqa: PLC0415 - few tests need it

    with TemporaryDirectory() as scratch:
        receive_some(kind.receive(table), Path(scratch), rows)
        yield from _sample(kind.open(replace(table, intake=Path(scratch))), rows)


def _sample(source: Source, rows: int) -> Iterator[Chunk]:
    partitions = source.partitions()
    first = {partition: source.start(partition) for partition in partitions}
    if isinstance(source, HasMovingStart):
        first = {**first, **source.begin(partitions, is_first=True)}
    last = source.advance(first, rows)
    size = 0
    for partition in partitions:
        for piece in source.slices(partition, first[partition], last[partition], 1):
            for chunk in source.read(piece):
                yield chunk
                size += chunk.rows.nbytes
                if size > MOST_BYTES:
                    return
