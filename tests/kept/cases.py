"""Pipelines whose checkpoints are kept: every kind of state, and every sink whose ledger lies beside it.

Paths are relative, so that a state is the same wherever it lies; `inputs` there is a link to the golden inputs.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.dataset as ds

from engine.spark.run.lifecycle import RunSpec
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.udf.declared import UdfFile

IMPULSE = """
CREATE TABLE impulse (
  timestamp TIMESTAMP, counter BIGINT UNSIGNED NOT NULL, subtask_index BIGINT UNSIGNED NOT NULL
) WITH (
  connector = 'single_file', path = 'inputs/impulse.json', format = 'json', type = 'source',
  event_time_field = timestamp
);
"""
CARS = """
CREATE TABLE cars (
  timestamp TIMESTAMP NOT NULL, driver_id BIGINT, event_type TEXT, location TEXT,
  WATERMARK FOR timestamp AS timestamp - INTERVAL '1 hour'
) WITH (connector = 'single_file', path = 'inputs/cars.json', format = 'json', type = 'source');
"""
ORDERS = """
CREATE TABLE orders (
  id INT PRIMARY KEY, customer_name TEXT, product_name TEXT, quantity INT, price FLOAT, order_date TIMESTAMP,
  status TEXT
) WITH (connector = 'single_file', path = 'inputs/aggregate_updates.json', format = 'debezium_json', type = 'source');
"""
SINK = "CREATE TABLE output WITH (connector = 'single_file', path = 'output.json', format = '{}', type = 'sink');\n"
ROWS, CHANGES = SINK.format("json"), SINK.format("debezium_json")
FOR_EVER = "SET updating_ttl = '36500 days';\n"
"""For a table whose rows have the time at which they arrive: by then all others are older than the usual day."""
FUNCTIONS = """
from engine.udf import udaf

@udaf
class total:
    def __init__(self): self.sum = 0
    def add(self, value: int) -> None: self.sum += value
    def merge(self, other: "total") -> None: self.sum += other.sum
    def retract(self, value: int) -> None: self.sum -= value
    def finish(self) -> int: return self.sum

@udaf
def middle(values: list[int]) -> int: return sorted(values)[len(values) // 2]
"""


@dataclass(frozen=True)
class Case:
    """A script, how many rows of a table are in an epoch, and the functions that it calls."""

    sql: str
    epoch_rows: int = 20
    functions: str = ""

    def spec(self, name: str, folder: Path) -> RunSpec:
        """A run of it in a folder that is also the working directory."""
        udfs = (UdfFile("functions.py", self.functions),) if self.functions else ()
        return RunSpec(
            name,
            self.sql,
            folder / "state",
            udfs=udfs,
            settings=replace(PLAIN_SETTINGS, max_epoch_rows=self.epoch_rows, quick=True),
        )


CASES = {
    "windows": Case(
        IMPULSE
        + """
CREATE TABLE tumbles WITH (connector = 'single_file', path = 'output.json', format = 'json', type = 'sink');
CREATE TABLE hops WITH (connector = 'single_file', path = 'hops.json.gz', format = 'json', type = 'sink');
CREATE TABLE sessions WITH (connector = 'filesystem', path = 'sessions', format = 'parquet', type = 'sink');
INSERT INTO tumbles SELECT tumble(INTERVAL '7 seconds') AS window, count(*) AS n, sum(counter) AS s,
  approx_percentile_cont(counter, 0.5) AS p FROM impulse GROUP BY window;
INSERT INTO hops SELECT hop(INTERVAL '2 seconds', INTERVAL '10 seconds') AS window, min(counter) AS least
  FROM impulse GROUP BY window;
INSERT INTO sessions SELECT session(INTERVAL '3 seconds') AS window, counter % 10 AS user_id, count(*) AS n
  FROM impulse GROUP BY window, user_id;
"""
    ),
    "windows_of_windows": Case(
        CARS
        + ROWS
        + """
CREATE VIEW hourly AS SELECT tumble(INTERVAL '1 hour') AS window, driver_id, event_type, count(*) AS n
  FROM cars GROUP BY window, driver_id, event_type;
INSERT INTO output SELECT window.start AS start, driver_id, n, place FROM (
  SELECT a.window AS window, a.driver_id AS driver_id, a.n + b.n AS n,
    row_number() OVER (PARTITION BY a.window ORDER BY a.n + b.n DESC, a.driver_id) AS place
  FROM (SELECT * FROM hourly WHERE event_type = 'pickup') a
  JOIN (SELECT * FROM hourly WHERE event_type = 'dropoff') b ON a.window = b.window AND a.driver_id = b.driver_id
) WHERE place <= 3;
""",
        1500,
    ),
    "updating_aggregates": Case(
        CARS
        + CHANGES
        + """
INSERT INTO output SELECT event_type, count(*) AS n, count(DISTINCT driver_id) AS drivers, sum(driver_id) AS s,
  avg(driver_id) AS mean, min(location) AS least, max(driver_id) AS most, median(driver_id) AS middle,
  bit_xor(driver_id) AS bits, bool_or(driver_id > 100) AS is_any, round(stddev(driver_id), 4) AS deviation,
  round(corr(driver_id, date_part('epoch', timestamp)), 4) AS related, approx_distinct(driver_id) AS about
FROM cars GROUP BY event_type HAVING count(*) > 1;
""",
        1500,
    ),
    "updating_over_changes": Case(
        FOR_EVER
        + ORDERS
        + CHANGES
        + """
INSERT INTO output SELECT total(quantity) AS total, middle(quantity) AS middle, count(*) AS products FROM (
  SELECT product_name, sum(quantity) AS quantity, min(price) AS cheapest FROM orders GROUP BY product_name);
""",
        150,
        FUNCTIONS,
    ),
    "updating_joins": Case(
        IMPULSE
        + CHANGES
        + """
CREATE VIEW odd AS SELECT counter, timestamp FROM impulse WHERE counter % 2 = 1;
CREATE VIEW thirds AS SELECT counter + 30 AS counter FROM impulse WHERE counter % 3 = 0;
INSERT INTO output SELECT odd.counter AS a, thirds.counter AS b, tens.n AS n
  FROM odd LEFT JOIN thirds ON odd.counter = thirds.counter
  FULL JOIN (SELECT counter / 10 AS ten, count(*) AS n FROM impulse GROUP BY 1) tens ON odd.counter = tens.ten;
"""
    ),
    "updating_top": Case(
        CARS
        + CHANGES
        + """
INSERT INTO output SELECT event_type, driver_id, place FROM (
  SELECT event_type, driver_id, row_number() OVER (PARTITION BY event_type ORDER BY n DESC, driver_id) AS place
  FROM (SELECT event_type, driver_id, count(*) AS n FROM cars GROUP BY event_type, driver_id)) WHERE place <= 5;
""",
        1500,
    ),
    "open_files": Case(
        CARS
        + """
CREATE TABLE rolling WITH (connector = 'filesystem', path = 'rolling', format = 'parquet', type = 'sink',
  'rolling_policy.file_size' = 40000, 'partitioning.fields' = 'event_type');
CREATE TABLE lines WITH (connector = 'filesystem', path = 'lines', format = 'json', type = 'sink',
  'rolling_policy.file_size' = 300000);
CREATE TABLE lake WITH (connector = 'delta', path = 'lake', 'rolling_policy.file_size' = 30000);
INSERT INTO rolling SELECT * FROM cars;
INSERT INTO lines SELECT * FROM cars;
INSERT INTO lake SELECT driver_id, location FROM cars;
""",
        1500,
    ),
}
"""By name. A case is never changed: what it says is in the states that are kept."""


def output_of(folder: Path) -> dict[str, list[str]]:
    """What the sinks of a case hold in the end, a sorted list of rows each; of changes, what they come to."""
    content: dict[str, Counter[str]] = {}
    for path in sorted((*folder.glob("*.json"), *folder.glob("*.json.gz"))):
        if path.name != "expected.json":
            content[path.name] = _what_is_left(ds.dataset(path, format="json").to_table().to_pylist())
    for name in ("sessions", "rolling", "lines"):
        if (folder / name).is_dir():
            files = [str(path) for path in sorted((folder / name).rglob("[!.]*.*")) if path.is_file()]
            table = ds.dataset(files, format="json" if name == "lines" else "parquet").to_table()
            content[name] = _what_is_left(table.to_pylist())
    if (folder / "lake").is_dir():
        from deltalake import DeltaTable

        content["lake"] = _what_is_left(DeltaTable(folder / "lake").to_pyarrow_table().to_pylist())
    return {name: sorted(rows.elements()) for name, rows in content.items()}


def _what_is_left(rows: list[dict[str, object]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for row in rows:
        if "op" not in row:
            counts[_text(row)] += 1
            continue
        for before in filter(None, (row["before"],)):
            counts[_text(before)] -= 1
            assert counts[_text(before)] >= 0, f"what is not there is taken back: {row}"
        counts.update(_text(after) for after in filter(None, (row["after"],)))
    return counts


def _text(row: object) -> str:
    return json.dumps(row, sort_keys=True, default=str)
