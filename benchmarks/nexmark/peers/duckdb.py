"""Queries in DuckDB, in one batch over all files: how fast these rows can be read and computed at all."""

from __future__ import annotations

from pathlib import Path

import duckdb

from benchmarks.nexmark.queries import QUERIES
from benchmarks.nexmark.queries.base import LeftOut
from benchmarks.nexmark.tables import COLUMNS
from benchmarks.nexmark.turns import PARALLELISM, Play, Played, Turn

_TYPES = {"i": "BIGINT", "t": "VARCHAR", "ts": "TIMESTAMP"}


def open_peer(_: Path) -> Play:
    """A database in memory for all turns; the tables are views of their files."""

    def play(turn: Turn) -> Played:
        with duckdb.connect(config={"threads": PARALLELISM}) as database:
            query = QUERIES[turn.query]
            text = query.in_sql("duckdb")
            assert not isinstance(text, LeftOut)
            for table in query.tables:
                database.execute(f"CREATE VIEW {table} AS SELECT * FROM {_files(table, turn)}")
            answer = database.sql(text)
            if turn.shows:
                return Played(rows=[list(row) for row in answer.fetchall()])
            for _batch in answer.to_arrow_reader(100_000):
                pass
            return Played()

    return play


def _files(table: str, turn: Turn) -> str:
    if table == "side":
        return f"read_csv('{turn.folder}/side.csv')"
    if turn.kind == "parquet":
        return f"read_parquet('{turn.folder}/{table}/*.parquet')"
    members = ", ".join(f"{name}: '{_TYPES[kind]}'" for name, kind in COLUMNS[table].items())
    return f"read_json('{turn.folder}/{table}/*.json', format = 'newline_delimited', columns = {{{members}}})"
