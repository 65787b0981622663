"""An hour that was complete is handed on once more when a row comes late for it, and the report counts that row, too.

A row that arrives after its hour is closed is no longer in the sums: the option `late_rows` of the source names a table
that stores it. `late="reopen"` reports its hour again, as `reopened`, and the report reads both tables.

This DAG plays all of it in one run: it writes the orders itself, and one more when their hour is closed. With a stream
of your own, `batch_by_partitions` shows the DAGs that this is for.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Asset, task

from airflow_provider_arroyo.operators.next_partition import NextPartitionOperator
from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator

HOME = os.environ.get("AIRFLOW_HOME", str(Path.home() / "airflow"))
FOLDER = os.environ.get("ARROYO_EXAMPLE_FOLDER", f"{HOME}/arroyo_example")
PIPELINE = "orders_that_come_late"

SQL = """
CREATE TABLE orders (at TIMESTAMP NOT NULL, amount BIGINT, WATERMARK FOR at) WITH (
    connector = 'filesystem', type = 'source', format = 'json', path = '{{ params.folder }}/late/orders',
    source.watch = 'true', late_rows = 'late_orders'
);
CREATE TABLE per_hour (hour TIMESTAMP, amount BIGINT) WITH (
    connector = 'single_file', type = 'sink', format = 'json', path = '{{ params.folder }}/late/per_hour.json'
);
CREATE TABLE late_orders (event_time TIMESTAMP, amount BIGINT) WITH (
    connector = 'single_file', type = 'sink', format = 'json', path = '{{ params.folder }}/late/late_orders.json'
);
INSERT INTO per_hour
SELECT window.start, amount
FROM (SELECT tumble(INTERVAL '1 hour') AS window, sum(amount) AS amount FROM orders GROUP BY 1);
"""

hours = Asset("hours_of_late_orders")
bucket: dict[str, Any] = {
    "pipeline": PIPELINE,
    "partitions": hours,
    "every": timedelta(hours=1),
    "consumer": "late-{{ ts_nodash }}",
    "start": "2026-01-01T00:00:00Z",
    "until": "2026-01-01T01:00:00Z",
    "late": "reopen",
    "poll_interval": 1,
}

with DAG(
    dag_id="late_rows_reopen_an_hour",
    schedule=None,
    max_active_runs=1,
    catchup=False,
    params={"folder": FOLDER},
    default_args={"retries": 2, "retry_delay": timedelta(seconds=5)},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:

    @task
    def write_orders(folder: str, name: str, first: str, count: int) -> None:
        """Put a file of orders into the folder that the stream watches, at once: one every 400 ms."""
        import json

        path = Path(folder) / "late" / "orders" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        times = [datetime.fromisoformat(first) + number * timedelta(milliseconds=400) for number in range(count)]
        part = Path(folder) / "late" / f"{name}.part"
        part.write_text("".join(json.dumps({"at": time.isoformat(), "amount": 1}) + "\n" for time in times))
        part.rename(path)

    @task
    def report(folder: str, of: dict[str, Any]) -> dict[str, Any]:
        """Sum up the hour that was handed on, out of the table of sums and that of the rows that came late for it."""
        import json

        amounts = {"per_hour.json": 0, "late_orders.json": 0}
        for name in amounts:
            with (Path(folder) / "late" / name).open() as file:
                rows = [json.loads(line) for line in file]
            hour = of["key"][:13]
            amounts[name] = sum(
                row["amount"] for row in rows if str(row.get("hour", row.get("event_time")))[:13] == hour
            )
        return {"kind": of["kind"], "in_time": amounts["per_hour.json"], "late": amounts["late_orders.json"]}

    folder = "{{ params.folder }}"
    written = write_orders.override(task_id="write_orders")(folder, "two_hours", "2026-01-01T00:00:00Z", 18_000)
    deploy = StreamingSqlOperator(task_id="deploy", pipeline=PIPELINE, sql=SQL)
    closed = NextPartitionOperator(task_id="closed", **bucket)
    comes_late = write_orders.override(task_id="comes_late")(folder, "{{ ts_nodash }}", "2026-01-01T00:20:00Z", 3)
    reopened = NextPartitionOperator(task_id="reopened", **bucket)
    whole = report(folder, reopened.output)
    stop = StopStreamingJobOperator(task_id="stop", pipeline=PIPELINE)

    written >> deploy >> closed >> comes_late >> reopened >> whole >> stop.as_teardown(setups=deploy)


if __name__ == "__main__":
    dag.test()
