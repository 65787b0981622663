"""Try a new query beside the one that runs before it takes its place: both go on from copies of the state over the same
input, and what they write is compared row by row.

The task `rehearse` fails where any row differs, its log says which, and nothing is deployed. What is meant to differ is
let through with `on_difference="report"`; then the task behind it decides, as `is_meant` does here. The input must be
such that can be read again: files as they are here, or topics, but nothing that is made by the clock.
"""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, task

from airflow_provider_arroyo.operators.rehearse import RehearseOperator
from airflow_provider_arroyo.operators.savepoint import SavepointOperator
from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.sensors.checkpoint import CheckpointSensor

HOME = os.environ.get("AIRFLOW_HOME", str(Path.home() / "airflow"))
FOLDER = os.environ.get("ARROYO_EXAMPLE_FOLDER", f"{HOME}/arroyo_example")

BEFORE = """
CREATE TABLE orders (at TIMESTAMP NOT NULL, customer TEXT, amount BIGINT, WATERMARK FOR at)
WITH (connector = 'filesystem', type = 'source', path = '{{ params.folder }}/rehearsed/orders', format = 'json',
      'source.watch' = true);
CREATE TABLE totals (start TIMESTAMP, customer TEXT, total BIGINT)
WITH (connector = 'single_file', type = 'sink', path = '{{ params.folder }}/rehearsed/totals.json', format = 'json');

INSERT INTO totals SELECT w.start, customer, total FROM (
  SELECT tumble(interval '1 hour') AS w, customer, sum(amount) AS total FROM orders GROUP BY w, customer
);
"""
MORE = BEFORE.replace("SELECT w.start, customer, total FROM", "SELECT w.start, customer, total * 100 AS total FROM")

with DAG(
    dag_id="rehearse_then_upgrade",
    schedule=None,
    max_active_runs=1,
    catchup=False,
    default_args={"retries": 1, "retry_delay": timedelta(seconds=1)},
    params={"folder": FOLDER},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:

    @task
    def write_orders(folder: str, name: str, hour: int) -> None:
        """Put an hour of orders into the folder that the stream watches, at once."""
        import json

        path = Path(folder) / "rehearsed" / "orders" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        orders = [
            {"at": f"2026-01-01T{hour:02}:{minute:02}:00Z", "customer": f"c{minute % 3}", "amount": minute}
            for minute in range(60)
        ]
        part = path.parents[1] / f"{name}.part"
        part.write_text("".join(f"{json.dumps(order)}\n" for order in orders))
        part.rename(path)

    folder = "{{ params.folder }}"
    written = write_orders.override(task_id="write_orders")(folder, "hour-0", 0)
    deploy = StreamingSqlOperator(task_id="deploy", pipeline="rehearsed_totals", sql=BEFORE)
    some_state = CheckpointSensor(task_id="some_state", pipeline="rehearsed_totals", poke_interval=1, timeout=300)
    savepoint = SavepointOperator(task_id="savepoint", pipeline="rehearsed_totals")
    more = write_orders.override(task_id="write_more")(folder, "hour-1", 1)
    rehearse = RehearseOperator(
        task_id="rehearse",
        pipeline="rehearsed_totals",
        sql=MORE,
        savepoint="{{ ti.xcom_pull('savepoint')['savepoint_id'] }}",
        on_difference="report",
    )

    @task
    def is_meant(rehearsal: dict[str, Any]) -> None:
        """Fail unless each row that differs has one in its place, and no sink but `totals` has any."""
        for sink in rehearsal["sinks"]:
            if sink["only_old"] != sink["only_new"] or (sink["differs"] and sink["sink"] != "totals"):
                raise ValueError(f"{sink['sink']} has other rows: {sink['examples']}")

    upgrade = StreamingSqlOperator(task_id="upgrade", pipeline="rehearsed_totals", sql=MORE)
    stop = StopStreamingJobOperator(task_id="stop", pipeline="rehearsed_totals")

    written >> deploy >> some_state >> savepoint >> more >> rehearse
    is_meant(rehearse.output) >> upgrade >> stop.as_teardown(setups=deploy)


if __name__ == "__main__":
    dag.test()
