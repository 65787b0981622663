"""The shapes of queries, each for us and for DuckDB, and the two pipelines that have them.

DuckDB reads the rows that were read up to a moment, under the names of their tables, and with the watermark that each
row was measured by (`_wm`). A window is nothing but two columns there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Literal

DELAY = timedelta(seconds=5)
IDLE = timedelta(seconds=45)
COLUMNS = "id BIGINT NOT NULL, k TEXT, v BIGINT, ts TIMESTAMP NOT NULL"
MINUTE = timedelta(minutes=1)

Promise = Literal["windows", "sessions", "rows", "changes"]
"""What is promised of an output: `windows` that begin before `complete_until` are there as they will stay, `sessions`
that end before `output_until` are, and `rows` whose `time` is before `complete_until`; `changes` are the answer over
what was read."""


@dataclass(frozen=True)
class Shape:
    """A query in both dialects. The output is behind the input by the windows, in all as long as `windows`."""

    engine_sql: str
    oracle_sql: str
    columns: Mapping[str, str]
    promise: Promise = "windows"
    windows: timedelta = timedelta(0)
    time: str = "ts"


@dataclass(frozen=True)
class Pipeline:
    """Tables with their partitions and options, and the sinks with their shapes."""

    tables: Mapping[str, tuple[str, ...]]
    shapes: Mapping[str, Shape]
    options: Mapping[str, str] = field(default_factory=dict)
    late_tables: frozenset[str] = frozenset()

    def script(self, folder: Path, policies: Mapping[str, str]) -> str:
        """The whole as a user would write it; `policies` says which sinks roll their files, and how. The first sink
        looks at the others."""
        text = "".join(
            f"CREATE TABLE {name} ({COLUMNS}, WATERMARK FOR ts AS ts - INTERVAL '{DELAY.seconds} seconds')\n"
            f"WITH (connector = 'scripted', path = '{folder}/{name}.json'{self.options.get(name, '')});\n"
            for name in self.tables
        )
        text += f"CREATE TABLE witness WITH (connector = 'witness', path = '{folder}');\n"
        text += f"INSERT INTO witness SELECT id FROM {next(iter(self.tables))} WHERE id < 0;\n"
        return text + "".join(_sink(folder, name, shape, policies.get(name)) for name, shape in self.shapes.items())


def _sink(folder: Path, name: str, shape: Shape, policy: str | None) -> str:
    form = "debezium_json" if shape.promise == "changes" else "json"
    path = f"path = '{folder}/out/{name}{'.json' if policy is None else ''}', format = '{form}', type = 'sink'"
    connector = "connector = 'single_file'" if policy is None else f"connector = 'filesystem', {policy}"
    columns = f" ({', '.join(f'{column} {kind}' for column, kind in shape.columns.items())})" * (not shape.engine_sql)
    insert = f"INSERT INTO {name} {shape.engine_sql};\n" if shape.engine_sql else ""
    return f"CREATE TABLE {name}{columns} WITH ({connector}, {path});\n{insert}"


def _sliced(table: str, slide: int, width: int) -> str:
    """The rows of a table with their windows that were not closed when they came, as `b` and `e`."""
    first = f"time_bucket(INTERVAL '{slide} seconds', ts, TIMESTAMP '1970-01-01')"
    return (
        f"(SELECT *, b + INTERVAL '{width} seconds' AS e FROM ("
        f"SELECT *, {first} - INTERVAL '{slide} seconds' * step AS b FROM {table}, range({width // slide}) steps(step))"
        f" WHERE _wm IS NULL OR b + INTERVAL '{width} seconds' > _wm)"
    )


WINDOW = {"b": "TIMESTAMP", "e": "TIMESTAMP"}
COUNTED = {**WINDOW, "k": "TEXT", "n": "BIGINT"}
SUMMED = {**COUNTED, "s": "BIGINT"}
TUMBLE, HOP = "tumble(INTERVAL '60 seconds')", "hop(INTERVAL '20 seconds', INTERVAL '60 seconds')"


def _windowed(table: str, window: str) -> str:
    """The counts of a window for us; `x` is the window."""
    return f"(SELECT {window} AS x, k, count(*) AS n, sum(v) AS s FROM {table} GROUP BY x, k)"


def _grouped(table: str, slide: int = 60, width: int = 60) -> str:
    return f"(SELECT b, e, k, count(*) AS n, sum(v) AS s FROM {_sliced(table, slide, width)} GROUP BY b, e, k)"


def _engine(table: str, window: str) -> str:
    return f"SELECT x.start AS b, x.end AS e, k, n, s FROM {_windowed(table, window)}"


_BOTH = "(SELECT k, v, ts{wm} FROM a UNION ALL SELECT k, v, ts{wm} FROM b)"
_RANKED = "row_number() OVER (PARTITION BY {by} ORDER BY n DESC, k) AS place"

SESSION = """
SELECT min(ts) AS b, max(ts) + INTERVAL '25 seconds' AS e, k, count(*) AS n, sum(v) AS s FROM (
  SELECT *, sum(starts) OVER (PARTITION BY k ORDER BY ts, starts DESC ROWS UNBOUNDED PRECEDING) AS number FROM (
    SELECT *, CASE WHEN ts - lag(ts) OVER (PARTITION BY k ORDER BY ts) < INTERVAL '25 seconds' THEN 0 ELSE 1 END
      AS starts FROM a)) GROUP BY k, number"""

WINDOWS = Pipeline(
    {"a": ("p", "q"), "b": ("p",)},
    {
        "tumble": Shape(_engine("a", TUMBLE), f"FROM {_grouped('a')}", SUMMED, windows=MINUTE),
        "hop": Shape(_engine("a", HOP), f"FROM {_grouped('a', 20)}", SUMMED, windows=MINUTE),
        "session": Shape(_engine("a", "session(INTERVAL '25 seconds')"), SESSION, SUMMED, "sessions"),
        "nested": Shape(
            f"SELECT x.start AS b, x.end AS e, count(*) AS n, max(s) AS s FROM {_windowed('a', HOP)} GROUP BY x",
            f"SELECT b, e, count(*) AS n, max(s) AS s FROM {_grouped('a', 20)} GROUP BY b, e",
            {**WINDOW, "n": "BIGINT", "s": "BIGINT"},
            windows=MINUTE,
        ),
        "joined": Shape(
            f"SELECT l.x.start AS b, l.x.end AS e, l.k AS k, l.n AS n, r.n AS s FROM {_windowed('a', TUMBLE)} l "
            f"LEFT JOIN {_windowed('b', TUMBLE)} r ON l.x = r.x AND l.k = r.k",
            f"SELECT l.b, l.e, l.k, l.n, r.n AS s FROM {_grouped('a')} l LEFT JOIN {_grouped('b')} r "
            "ON l.b = r.b AND l.k = r.k",
            SUMMED,
            windows=MINUTE,
        ),
        "over": Shape(
            f"SELECT x.start AS b, x.end AS e, k, n, {_RANKED.format(by='x')} FROM {_windowed('a', TUMBLE)}",
            f"SELECT b, e, k, n, {_RANKED.format(by='b')} FROM {_grouped('a')}",
            {**COUNTED, "place": "BIGINT"},
            windows=MINUTE,
        ),
        "top_n": Shape(
            f"SELECT x.start AS b, x.end AS e, k, n FROM ("
            f"SELECT *, {_RANKED.format(by='x')} FROM {_windowed('a', HOP)}) WHERE place <= 2",
            f"SELECT b, e, k, n FROM (SELECT *, {_RANKED.format(by='b')} FROM {_grouped('a', 20)}) WHERE place <= 2",
            COUNTED,
            windows=MINUTE,
        ),
        "updating": Shape(
            "SELECT k, count(*) AS n, sum(v) AS s FROM a GROUP BY k",
            "SELECT k, count(*) AS n, sum(v) AS s FROM a GROUP BY k",
            {"k": "TEXT", "n": "BIGINT", "s": "BIGINT"},
            "changes",
        ),
        "stateless": Shape(
            "SELECT id, k, ts FROM a WHERE v > 2",
            "SELECT id, k, ts FROM a WHERE v > 2",
            {"id": "BIGINT", "k": "TEXT", "ts": "TIMESTAMP"},
            "rows",
        ),
        "two_sources": Shape(
            _engine(_BOTH.format(wm=""), TUMBLE), f"FROM {_grouped(_BOTH.format(wm=', _wm'))}", SUMMED, windows=MINUTE
        ),
    },
)
SILENCES = Pipeline(
    {"i": ("p", "q", "r"), "l": ("p",)},
    {
        "idle": Shape(_engine("i", TUMBLE), f"FROM {_grouped('i')}", SUMMED, windows=MINUTE),
        "late": Shape(_engine("l", HOP), f"FROM {_grouped('l', 20)}", SUMMED, windows=MINUTE),
        "too_late": Shape(
            "",
            "SELECT id, ts AS event_time, _wm AS watermark FROM l WHERE _wm >= INTERVAL '60 seconds'"
            " + time_bucket(INTERVAL '20 seconds', ts, TIMESTAMP '1970-01-01')",
            {"id": "BIGINT NOT NULL", "event_time": "TIMESTAMP NOT NULL", "watermark": "TIMESTAMP NOT NULL"},
            "rows",
            time="event_time",
        ),
    },
    {"i": f", idle_time = '{IDLE.seconds} seconds'", "l": ", late_rows = 'too_late'"},
    late_tables=frozenset("l"),
)
PIPELINES = {"windows": WINDOWS, "silences": SILENCES}
SHAPES = {name: shape for pipeline in PIPELINES.values() for name, shape in pipeline.shapes.items()}
