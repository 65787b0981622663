"""Nexmark's events as files, made once: for each table a file to an epoch, in the order of their times.

    nexmark-1000000x4/json/bid/00.json ... 03.json      the first quarter of the bids, ...
                      json/auction/00.json ...
                      json/person/00.json ...
                      parquet/...                       the same rows
                      halves/bid/0.json, 1.json         the same rows dealt in turn, for Flink: its two readers take
                                                        files in no order, which makes rows of a third file late
                      parquet-halves/bid/0.parquet ...

Each table has a folder of its own, so that a query reads what it needs. Ten thousand events are a second.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.nexmark.tables import COLUMNS, PER_FIFTY
from benchmarks.nexmark.turns import Topics, Turn
from engine.connectors.nexmark.events import EventMaker

Layout = Literal["json", "parquet", "halves", "parquet-halves"]
"""As what they lie in files."""
HALVES: Mapping[Layout, Layout] = {"json": "halves", "parquet": "parquet-halves"}
"""The layout for two readers that take files in no order."""
_OPTIONS = {"json": "FORMAT json", "parquet": "FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880"}
_START = int(datetime(2024, 1, 1, 7, 59, 30, tzinfo=UTC).timestamp()) * 1_000_000
SIDE = tuple((key, f"name {key}") for key in range(0, 1000, 3))
"""The rows of the table `side`, which lies beside the others."""


@dataclass(frozen=True, slots=True)
class Events:
    """So many events, rounded down to whole fifties in each epoch, `spacing` apart."""

    folder: Path
    wanted: int
    epochs: int
    spacing: timedelta = timedelta(microseconds=100)

    @property
    def per_epoch(self) -> int:
        """Events of an epoch."""
        return self.wanted // self.epochs // 50 * 50

    @property
    def count(self) -> int:
        """Events in all."""
        return self.per_epoch * self.epochs

    def rows(self, tables: Iterable[str]) -> int:
        """How many rows these tables have together."""
        return sum(self.count // 50 * PER_FIFTY.get(table, 0) for table in tables)

    def turn(
        self,
        query: str,
        tables: Iterable[str],
        *,
        layout: Layout = "json",
        topics: Topics | None = None,
        fuse: bool = False,
        shows: bool = False,
    ) -> Turn:
        """A play of a query that reads these tables. An epoch has as many rows as a file of the largest of them."""
        rows = max(self.per_epoch // 50 * PER_FIFTY.get(table, 0) for table in tables)
        return Turn(query, str(self.made(layout)), rows, _kind(layout), topics=topics, fuse=fuse, shows=shows)

    def made(self, layout: Layout) -> Path:
        """The folder of a layout, made if it is not there."""
        folder = self.folder / f"nexmark-{self.count}x{self.epochs}x{self.spacing // timedelta(microseconds=1)}"
        target = folder / layout
        if not (target / "_done").exists():
            _write(self, target, layout)
            (target / "_done").touch()
        return target


def _kind(layout: Layout) -> str:
    """The format of its files."""
    return "parquet" if layout.startswith("parquet") else "json"


def _write(events: Events, target: Path, layout: Layout) -> None:
    database = duckdb.connect()
    database.execute("SET TimeZone = 'UTC'")
    for table in COLUMNS:
        (target / table).mkdir(parents=True, exist_ok=True)
    with (target / "side.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("key", "name"), *SIDE])
    (target / "side.json").write_text("".join(json.dumps({"key": key, "name": name}) + "\n" for key, name in SIDE))
    micros = events.spacing // timedelta(microseconds=1)
    maker = EventMaker(tuple(COLUMNS), 0, micros)
    for epoch in range(events.epochs):
        numbers = np.arange(epoch * events.per_epoch, (epoch + 1) * events.per_epoch, dtype=np.int64)
        batch = maker(numbers, _START + numbers * micros)
        for table in COLUMNS:
            structs = batch.column(batch.schema.get_field_index(table)).drop_null()
            _write_file(database, table, pa.Table.from_struct_array(structs), target, epoch, layout)
    if layout in HALVES.values():
        _join_parts(database, target, _kind(layout))
    database.close()


def _write_file(
    database: duckdb.DuckDBPyConnection, table: str, rows: pa.Table, target: Path, epoch: int, layout: Layout
) -> None:
    database.register("rows", rows)
    instants = [name for name, kind in COLUMNS[table].items() if kind == "ts"]
    kind = _kind(layout)
    form = "strftime({0}, '%Y-%m-%dT%H:%M:%S.%gZ')" if kind == "json" else "date_trunc('milliseconds', {0})"
    columns = ", ".join(f"{form.format(name)} AS {name}" for name in instants)
    query = f"SELECT * REPLACE ({columns}) FROM rows"
    if layout in HALVES.values():
        for half in (0, 1):
            path = target / table / f"{half}.{epoch:02}"
            dealt = f"SELECT * EXCLUDE place FROM (SELECT *, row_number() OVER () AS place FROM ({query}))"
            database.execute(f"COPY ({dealt} WHERE place % 2 = {half} ORDER BY place) TO '{path}' ({_OPTIONS[kind]})")
        return
    path = target / table / f"{epoch:02}.{kind}"
    database.execute(f"COPY ({query}) TO '{path}' ({_OPTIONS[kind]})")
    os.utime(path, (1_700_000_000 + epoch,) * 2)  # sources take files in the order in which they were changed


def _join_parts(database: duckdb.DuckDBPyConnection, target: Path, kind: str) -> None:
    for table in COLUMNS:
        for half in (0, 1):
            parts = sorted((target / table).glob(f"{half}.[0-9]*"))
            whole = target / table / f"{half}.{kind}"
            if kind == "parquet":
                names = [str(part) for part in parts]
                database.execute(f"COPY (SELECT * FROM read_parquet({names})) TO '{whole}' ({_OPTIONS[kind]})")
            else:
                whole.write_bytes(b"".join(part.read_bytes() for part in parts))
            for part in parts:
                part.unlink()
