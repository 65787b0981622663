"""All of it in one DAG: from a stream to reports by the hour, through late rows, a savepoint, an upgrade and a rescale.

Orders come in, a pipeline sums them up by hour and shop, and a batch task reports an hour as soon as it is complete.
An order that comes too late for its hour has that hour handed on once more. In the middle of the next hour the state is
saved, the query is given one more column, and the pipeline goes on with two tasks. The hour in which all that happened
is as right as the others; only the new column begins with the hour after it, as the plan of the upgrade says.

`make demo` plays this DAG and checks its reports with DuckDB.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Asset, task

from airflow_provider_arroyo.operators.next_partition import NextPartitionOperator
from airflow_provider_arroyo.operators.rescale import RescaleOperator
from airflow_provider_arroyo.operators.savepoint import SavepointOperator
from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.operators.upgrade_plan import UpgradePlanOperator
from airflow_provider_arroyo.sensors.watermark import WatermarkSensor

HOME = os.environ.get("AIRFLOW_HOME", str(Path.home() / "airflow"))
FOLDER = os.environ.get("ARROYO_EXAMPLE_FOLDER", f"{HOME}/arroyo_example")
RUN = "{{ dag_run.run_after.strftime('%Y%m%dT%H%M%S%f') }}"
"""Each run has a pipeline and files of its own, so that it can be played again."""
PIPELINE = f"orders_by_hour_{RUN}"
FIRST, SECOND, THIRD = "2026-01-01T00", "2026-01-01T01", "2026-01-01T02"

SQL = """
CREATE TABLE orders (at TIMESTAMP NOT NULL, shop BIGINT, cents BIGINT, WATERMARK FOR at) WITH (
    connector = 'filesystem', type = 'source', format = 'json', path = '{{{{ params.folder }}}}/{run}/orders',
    source.watch = 'true', late_rows = 'late_orders'
);
CREATE TABLE by_hour WITH (
    connector = 'single_file', type = 'sink', format = 'json', path = '{{{{ params.folder }}}}/{run}/by_hour.json'
);
CREATE TABLE late_orders (event_time TIMESTAMP, shop BIGINT, cents BIGINT) WITH (
    connector = 'single_file', type = 'sink', format = 'json', path = '{{{{ params.folder }}}}/{run}/late_orders.json'
);
INSERT INTO by_hour
SELECT window.start AS hour, shop, orders, cents{column}
FROM (
    SELECT tumble(INTERVAL '1 hour') AS window, shop, count(*) AS orders, sum(cents) AS cents{aggregate}
    FROM orders GROUP BY 1, 2
);
"""
BEFORE = SQL.format(run=RUN, column="", aggregate="")
AFTER = SQL.format(run=RUN, column=", largest", aggregate=", max(cents) AS largest")

hours = Asset("hours_of_orders")

with DAG(
    dag_id="the_whole_story",
    schedule=None,
    catchup=False,
    max_active_runs=1,
    params={"folder": FOLDER},
    default_args={"retries": 2, "retry_delay": timedelta(seconds=1)},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:

    @task
    def write_orders(folder: str, name: str, first: str, count: int) -> dict[str, Any]:
        """Put a file of orders into the folder that the stream watches: one every 400 ms of event time."""
        import json

        path = Path(folder) / "orders" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        start = datetime.fromisoformat(first)
        rows = [
            {"at": (start + n * timedelta(milliseconds=400)).isoformat(), "shop": n % 7, "cents": n * 37 % 1000}
            for n in range(count)
        ]
        part = Path(folder) / f"{name}.part"
        part.write_text("".join(json.dumps(row) + "\n" for row in rows))
        part.rename(path)
        return {"orders": count, "from": first}

    @task
    def report(folder: str, hour: str) -> dict[str, Any]:
        """Report an hour: the sums that the stream has written, and the orders that came too late for them."""
        import json

        def rows_of(table: str, time: str) -> list[dict[str, Any]]:
            path = Path(folder) / f"{table}.json"
            lines = path.read_text().splitlines() if path.exists() else []
            return [row for row in map(json.loads, lines) if row[time][:13] == hour[:13]]

        sums = {row["shop"]: {"largest": None, **row} for row in rows_of("by_hour", "hour")}
        late = rows_of("late_orders", "event_time")
        for row in late:
            sums[row["shop"]]["orders"] += 1
            sums[row["shop"]]["cents"] += row["cents"]
        path = Path(folder) / "reports" / f"{hour[:13]}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps([sums[shop] for shop in sorted(sums)]))
        return {"hour": hour, "orders": sum(row["orders"] for row in sums.values()), "of them late": len(late)}

    folder = f"{{{{ params.folder }}}}/{RUN}"
    bucket: dict[str, Any] = {
        "pipeline": PIPELINE,
        "partitions": hours,
        "every": timedelta(hours=1),
        "consumer": f"story-{RUN}",
        "table": "by_hour",
        "start": f"{FIRST}:00:00Z",
        "until": f"{SECOND}:00:00Z",
        "late": "reopen",
        "poll_interval": 1,
    }

    orders_come = write_orders.override(task_id="orders_come")(folder, "first", f"{FIRST}:00:00Z", 18_000)
    deploy = StreamingSqlOperator(
        task_id="deploy",
        pipeline=PIPELINE,
        sql=BEFORE,
        parallelism=1,
        settings={"quick": "true"},  # a pipeline that lives for minutes: soon there matters more than fast at its best
        doc_md="Let the pipeline run: one script, one job on Spark, which outlives this task.",
    )
    first_hour_is_complete = NextPartitionOperator(
        task_id="first_hour_is_complete",
        doc_md="Wait, on no worker, until all orders of the hour are in the output that can be read.",
        **bucket,
    )
    report_first_hour = report.override(task_id="report_first_hour")(folder, FIRST)
    orders_come_late = write_orders.override(task_id="orders_come_late")(folder, "late", f"{FIRST}:20:00Z", 3)
    first_hour_reopens = NextPartitionOperator(
        task_id="first_hour_reopens",
        doc_md="Wait until the hour is handed on once more, since orders came late for it.",
        **bucket,
    )
    report_it_again = report.override(task_id="report_it_again")(folder, FIRST)

    savepoint = SavepointOperator(
        task_id="savepoint",
        pipeline=PIPELINE,
        savepoint_label="before the upgrade of {{ run_id }}",
        poll_interval=1,
        doc_md="Keep a copy of the pipeline's state, while it runs.",
    )
    plan = UpgradePlanOperator(
        task_id="plan",
        pipeline=PIPELINE,
        sql=AFTER,
        doc_md="See what one more column would keep and lose; nothing may be lost.",
    )
    upgrade = StreamingSqlOperator(
        task_id="upgrade",
        pipeline=PIPELINE,
        sql=AFTER,
        parallelism=1,
        settings={"quick": "true"},
        doc_md="Go on with the new query from the state of the old one.",
    )
    rescale = RescaleOperator(
        task_id="rescale",
        pipeline=PIPELINE,
        parallelism=2,
        poll_interval=1,
        doc_md="Go on with two tasks instead of one, from the very row where it stopped.",
    )
    more_orders_come = write_orders.override(task_id="more_orders_come")(folder, "more", f"{THIRD}:00:00Z", 18_000)
    all_hours_are_complete = WatermarkSensor(
        task_id="all_hours_are_complete",
        pipeline=PIPELINE,
        past="2026-01-01T03:00:00Z",
        table="by_hour",
        deferrable=True,
        poke_interval=1,
        timeout=timedelta(minutes=10),
        doc_md="Wait for the hour in which all this happened, and the one after it.",
    )
    report_second_hour = report.override(task_id="report_second_hour")(folder, SECOND)
    report_third_hour = report.override(task_id="report_third_hour")(folder, THIRD)
    stop = StopStreamingJobOperator(
        task_id="stop",
        pipeline=PIPELINE,
        poll_interval=1,
        doc_md="Finish the epoch in hand and stop. Deployed again, it would go on from there.",
    )

    orders_come >> deploy >> first_hour_is_complete >> report_first_hour
    report_first_hour >> orders_come_late >> first_hour_reopens >> report_it_again
    report_it_again >> savepoint >> plan >> upgrade >> rescale >> more_orders_come >> all_hours_are_complete
    all_hours_are_complete >> report_second_hour >> report_third_hour >> stop


if __name__ == "__main__":
    dag.test()
