"""Five pipelines of different shapes over counters, and what must hold of their output, wherever they were stopped."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]

_COUNTER = """
CREATE TABLE {name} WITH (connector = 'impulse', event_rate = '{rate}', event_time_interval = '10 milliseconds',
  start_time = '2026-01-01T00:00:00Z');"""
_OUTPUT = """
CREATE TABLE output ({columns}) WITH (connector = 'single_file', path = '{path}', format = '{format}', type = 'sink');
INSERT INTO output """
_KEYS = 8
_PER_WINDOW = 125
"""Rows of a key in ten seconds: a row every ten milliseconds of event time, eight keys."""
_PER_SESSION = 50


@dataclass(frozen=True, slots=True)
class Shape:
    """A pipeline, and what is wrong with its rows, if anything is."""

    name: str
    columns: str
    query: str
    complain: Callable[[Iterable[Row]], str | None]
    output_format: str = "json"

    def script(self, path: Path, rate: int) -> str:
        """The pipeline as it is deployed; its counters go so many rows a second."""
        counters = "".join(_COUNTER.format(name=name, rate=rate) for name in ("events", "others") if name in self.query)
        return counters + _OUTPUT.format(columns=self.columns, path=path, format=self.output_format) + self.query


def read_rows(path: Path) -> Iterable[Row]:
    """What a sink has written."""
    with path.open() as lines:
        yield from map(json.loads, lines)


def _each_number_once(rows: Iterable[Row]) -> str | None:
    numbers = Counter(row["counter"] for row in rows)
    doubled = sum(count > 1 for count in numbers.values())
    missing = max(numbers, default=-1) + 1 - len(numbers)
    return f"{doubled} doubled, {missing} missing" if doubled or missing else None


def _whole_windows(rows: Iterable[Row]) -> str | None:
    counts = Counter((row["start"], row["k"], row["n"], row.get("m", row["n"])) for row in rows)
    starts = sorted(datetime.fromisoformat(start) for start in {start for start, *_ in counts})
    wrong = [window for window, times in counts.items() if times > 1 or window[2:] != (_PER_WINDOW, _PER_WINDOW)]
    gaps = [start for start, following in pairwise(starts) if following - start != timedelta(seconds=10)]
    is_whole = len(counts) == len(starts) * _KEYS
    return None if is_whole and not wrong and not gaps else f"wrong: {wrong[:3]}, gaps after {gaps[:3]}"


def _whole_sessions(rows: Iterable[Row]) -> str | None:
    sizes = Counter(row["n"] for row in rows)
    return None if set(sizes) <= {_PER_SESSION} else f"sessions of {dict(sizes)} rows"


def _even_totals(rows: Iterable[Row]) -> str | None:
    totals: dict[int, int] = {}
    for row in rows:
        if row["after"] is not None:
            totals[row["after"]["k"]] = row["after"]["n"]
        elif row["before"] is not None:
            del totals[row["before"]["k"]]
    is_even = len(totals) == _KEYS and max(totals.values()) - min(totals.values()) <= 1
    return None if is_even else f"totals of keys that take turns: {totals}"


SHAPES = (
    Shape("copied", "counter BIGINT UNSIGNED", "SELECT counter FROM events;", _each_number_once),
    Shape(
        "windows",
        "start TIMESTAMP, k BIGINT UNSIGNED, n BIGINT",
        "SELECT window.start, k, n FROM (SELECT tumble(INTERVAL '10 seconds') AS window, counter % 8 AS k,"
        " count(*) AS n FROM events GROUP BY 1, 2);",
        _whole_windows,
    ),
    Shape(
        "sessions",
        "start TIMESTAMP, n BIGINT",
        "SELECT window.start, n FROM (SELECT session(INTERVAL '200 milliseconds') AS window, count(*) AS n"
        " FROM events WHERE counter % 100 < 50 GROUP BY 1);",
        _whole_sessions,
    ),
    Shape(
        "totals",
        "k BIGINT UNSIGNED, n BIGINT",
        "SELECT counter % 8 AS k, count(*) AS n FROM events GROUP BY 1;",
        _even_totals,
        "debezium_json",
    ),
    Shape(
        "joined",
        "start TIMESTAMP, k BIGINT UNSIGNED, n BIGINT, m BIGINT",
        "SELECT a.window.start, a.k, a.n, b.n AS m FROM (SELECT tumble(INTERVAL '10 seconds') AS window,"
        " counter % 8 AS k, count(*) AS n FROM events GROUP BY 1, 2) a"
        " JOIN (SELECT tumble(INTERVAL '10 seconds') AS window,"
        " counter % 8 AS k, count(*) AS n FROM others GROUP BY 1, 2) b ON a.window = b.window AND a.k = b.k;",
        _whole_windows,
    ),
)
