"""Whether a peer's answer is that of DuckDB's batch over the same rows: only then does its time count."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb

from benchmarks.nexmark.events import Events
from benchmarks.nexmark.queries.base import Query
from benchmarks.nexmark.queries.windowed import DELAY
from tests.fuzz.oracle import comparable, difference

Rows = Sequence[Sequence[object]]


def small_events(folder: Path) -> Events:
    """A few events far enough apart for ten windows."""
    return Events(folder, 20_000, 4, timedelta(milliseconds=5))


def fault(query: Query, peer: str, rows: Rows, expected: Rows, events: Events) -> str:
    """What is wrong with the rows of a peer, or nothing. Spark leaves windows open that end after its last watermark,
    so those do not count there; and an answer of no rows shows nothing."""
    kinds = {str(number): kind for number, kind in enumerate(query.kinds.split())}
    wanted = [comparable(row, kinds) for row in expected]
    if not wanted:
        return "the query finds nothing"
    shown = [comparable(row, kinds) for row in rows]
    if peer == "spark" and query.is_windowed:
        end = _last_watermark(query, events)
        wanted = [row for row in wanted if str(row[1]) <= end]
        shown = [row for row in shown if str(row[1]) <= end]
    return difference(shown, wanted)


def _last_watermark(query: Query, events: Events) -> str:
    with duckdb.connect() as database:
        newest = [
            database.sql(f"SELECT max(datetime::TIMESTAMP) FROM '{events.made('json')}/{table}/*.json'").fetchall()
            for table in query.tables
        ]
    instant: datetime = min(rows[0][0] for rows in newest) - timedelta(seconds=DELAY)
    return instant.replace(tzinfo=UTC).replace(tzinfo=None).isoformat()
