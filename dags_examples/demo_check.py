"""Compute the reports of the batch tasks again with DuckDB, from the written orders."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeAlias

import duckdb

ANSWER = """
    SELECT shop, count(*), sum(cents), max(cents)
    FROM read_json('{orders}/*.json', columns = {{'at': 'TIMESTAMPTZ', shop: 'BIGINT', cents: 'BIGINT'}})
    WHERE "at" >= TIMESTAMPTZ '{start}+00' AND "at" < TIMESTAMPTZ '{end}+00' GROUP BY shop ORDER BY shop
"""
REPORTS = 3

Row: TypeAlias = tuple[int, int, int, int | None]
"""A shop, how many orders it had, for how many cents, and the largest; nothing is known of that before the upgrade."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that holds or does not, and the table it is about."""

    holds: bool
    text: str
    table: tuple[str, ...] = ()


def check_reports(folder: Path) -> Iterator[Finding]:
    """Whether each report is what the orders say, and whether the column that came with the upgrade is in the last."""
    rows: list[Row] = []
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        reports = sorted((folder / "reports").glob("*.json"))
        for report in reports:
            rows = [
                (row["shop"], row["orders"], row["cents"], row["largest"]) for row in json.loads(report.read_text())
            ]
            yield _check_hour(database, folder / "orders", report.stem, rows)
    yield Finding(len(reports) == REPORTS, f"{len(reports)} reports of {REPORTS}")
    has_column = bool(rows) and all(largest is not None for *_, largest in rows)
    yield Finding(
        has_column, f"the new column is {'there' if has_column else 'NOT there'} in the hour after the upgrade"
    )


def _check_hour(database: duckdb.DuckDBPyConnection, orders: Path, hour: str, reported: list[Row]) -> Finding:
    start = datetime.strptime(hour, "%Y-%m-%dT%H")  # noqa: DTZ007 - the name of a file, in UTC
    query = ANSWER.format(orders=orders, start=start, end=start + timedelta(hours=1))
    right = [_as_row(row) for row in database.execute(query).fetchall()]
    is_same = bool(right) and reported in (right, [(*row[:3], None) for row in right])
    total = sum(count for _, count, *_ in right)
    verdict = "the same" if is_same else "NOT the same"
    return Finding(
        is_same, f"{start:%Y-%m-%d %H}:00, {total:,} orders by DuckDB: the report is {verdict}", _table(reported)
    )


def _as_row(values: tuple[int, ...]) -> Row:
    shop, orders, cents, largest = map(int, values)
    return shop, orders, cents, largest


def _table(rows: list[Row]) -> tuple[str, ...]:
    head = f"{'shop':>6}{'orders':>10}{'cents':>12}{'largest':>9}"
    return (head, *(f"{shop:>6}{orders:>10,}{cents:>12,}{_shown(largest):>9}" for shop, orders, cents, largest in rows))


def _shown(largest: int | None) -> str:
    return "" if largest is None else f"{largest:,}"
