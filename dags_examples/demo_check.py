"""The answers of the batch tasks, worked out again by DuckDB from the raw events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import duckdb

# The one thing both sides must know of each other: how a raw event becomes an order.
ORDERS = "SELECT ordered_at, counter % 7 AS shop, (counter * 37) % 1000 AS cents FROM read_parquet('{raw}')"
ANSWER = """
    SELECT shop, count(*) AS orders, sum(cents) AS cents FROM ({orders})
    WHERE ordered_at >= TIMESTAMPTZ '{start}+00' AND ordered_at < TIMESTAMPTZ '{end}+00' GROUP BY shop ORDER BY shop
"""
SHOWN = 7


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that holds or does not, and the table it is about."""

    holds: bool
    text: str
    table: tuple[str, ...] = ()


def check_answers(folder: Path) -> Iterator[Finding]:
    """Whether no raw event is lost or doubled, and whether each answer is what the raw events say."""
    raw = f"{folder}/raw/**/*.parquet"
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        yield _check_raw(database, raw)
        for answer in sorted((folder / "answers").glob("*.parquet")):
            yield _check_hour(database, raw, answer)


def _check_raw(database: duckdb.DuckDBPyConnection, raw: str) -> Finding:
    """Events are numbered from zero, so one that is missing or there twice shows."""
    counts = database.execute(
        f"SELECT count(*), count(DISTINCT counter), max(counter) + 1 FROM read_parquet('{raw}')"  # noqa: S608
    ).fetchone()
    rows, distinct, expected = counts or (0, 0, 0)
    return Finding(rows == distinct == expected, f"{rows:,} raw events, {distinct:,} different, {expected:,} expected")


def _check_hour(database: duckdb.DuckDBPyConnection, raw: str, answer: Path) -> Finding:
    start = datetime.strptime(answer.stem, "%Y-%m-%d-%H")  # noqa: DTZ007 - the name of a directory, in UTC
    query = ANSWER.format(orders=ORDERS.format(raw=raw), start=start, end=start + timedelta(hours=1))
    right = [tuple(map(int, row)) for row in database.execute(query).fetchall()]
    written = database.execute(f"SELECT shop, orders, cents FROM read_parquet('{answer}') ORDER BY shop").fetchall()  # noqa: S608
    answer_rows = [tuple(map(int, row)) for row in written]
    total = sum(orders for _, orders, _ in right)
    verdict = _verdict(answer_rows == right)
    text = f"{start:%Y-%m-%d %H}:00, {total:,} orders by DuckDB: the batch task's table is {verdict}"
    return Finding(answer_rows == right and total > 0, text, _table(answer_rows))


def _verdict(same: bool) -> str:
    return "the same" if same else "NOT the same"


def _table(rows: list[tuple[int, ...]]) -> tuple[str, ...]:
    head = f"{'shop':>6}{'orders':>10}{'cents':>12}"
    return (head, *(f"{shop:>6}{orders:>10,}{cents:>12,}" for shop, orders, cents in rows[:SHOWN]))
