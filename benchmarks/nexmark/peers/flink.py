"""Queries in Flink SQL, in a cluster within one Java: two slots, objects reused, state on the heap, and a checkpoint
every five seconds. It runs in a Python of its own, which `environment.py` makes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pyflink.table import EnvironmentSettings, TableDescriptor, TableEnvironment

from benchmarks.nexmark.queries import QUERIES
from benchmarks.nexmark.queries.base import LeftOut, Query
from benchmarks.nexmark.queries.windowed import DELAY
from benchmarks.nexmark.tables import declared
from benchmarks.nexmark.turns import JARS, PARALLELISM, Play, Played, Topics, Turn

_TYPES = {"i": "BIGINT", "t": "STRING", "ts": "TIMESTAMP_LTZ(3)"}
_WATERMARK = f", WATERMARK FOR `datetime` AS `datetime` - INTERVAL '{DELAY}' SECOND"
_SETTINGS = {
    "parallelism.default": str(PARALLELISM),
    "pipeline.object-reuse": "true",
    "table.local-time-zone": "UTC",
    "state.backend.type": "hashmap",
    "execution.checkpointing.interval": "5 s",
    "restart-strategy.type": "none",
    "taskmanager.numberOfTaskSlots": str(PARALLELISM),
}


def open_peer(scratch: Path) -> Play:
    """An environment for all turns."""
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    settings = {**_SETTINGS, "execution.checkpointing.dir": (scratch / "checkpoints").as_uri()}
    if archives := os.environ.get(JARS):
        settings["pipeline.jars"] = ";".join(Path(path).as_uri() for path in archives.split(","))
    for name, value in settings.items():
        environment.get_config().set(name, value)

    def play(turn: Turn) -> Played:
        query = QUERIES[turn.query]
        text = query.in_sql("flink")
        assert not isinstance(text, LeftOut)
        for table in query.tables:
            environment.execute_sql(f"DROP TEMPORARY TABLE IF EXISTS {table}")
            environment.execute_sql(_table(table, query, turn))
        answer = environment.sql_query(text)
        if turn.shows:
            environment.create_temporary_view("answer", answer)
            names = zip(answer.get_schema().get_field_names(), query.kinds.split(), strict=True)
            # an instant with a time zone does not come into Python
            columns = [f"CAST(`{name}` AS TIMESTAMP(3))" if kind == "ts" else f"`{name}`" for name, kind in names]
            rows = _rows(environment.execute_sql(f"SELECT {', '.join(columns)} FROM answer"))
            environment.drop_temporary_view("answer")
            return Played(rows=rows)
        answer.execute_insert(TableDescriptor.for_connector("blackhole").build()).wait()
        return Played()

    return play


def _table(table: str, query: Query, turn: Turn) -> str:
    if table == "side":
        return f"CREATE TEMPORARY TABLE side (`key` BIGINT, name STRING) WITH ({_files('json', turn, 'side.json')})"
    columns = declared(table, _TYPES, "`") + (_WATERMARK if query.is_windowed else "")
    options = _files(turn.kind, turn, table) if turn.topics is None else _topic(turn.topics, table)
    options += (
        ", 'parquet.utc-timezone' = 'true'"
        if turn.kind == "parquet"
        else ", 'json.timestamp-format.standard' = 'ISO-8601'"
    )
    return f"CREATE TEMPORARY TABLE {table} ({columns}) WITH ({options})"


def _files(kind: str, turn: Turn, name: str) -> str:
    return f"'connector' = 'filesystem', 'format' = '{kind}', 'path' = 'file://{turn.folder}/{name}'"


def _topic(topics: Topics, table: str) -> str:
    return (
        f"'connector' = 'kafka', 'properties.bootstrap.servers' = '{topics.brokers}', 'topic' = '{topics.of(table)}', "
        "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset', "
        "'properties.isolation.level' = 'read_committed', 'format' = 'json'"
    )


def _rows(result: Any) -> list[list[object]]:
    rows: dict[tuple[object, ...], int] = {}
    with result.collect() as changes:
        for change in changes:
            values = tuple(change)
            sign = -1 if str(change.get_row_kind()) in ("-U", "-D") else 1
            rows[values] = rows.get(values, 0) + sign
    return [list(values) for values, times in rows.items() for _ in range(times)]
