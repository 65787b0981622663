"""Try a new query beside the one that runs before it takes its place: both go on from copies of the state over the same
input, and what they write is compared row by row.

The task `rehearse` fails where any row differs, its log says which, and nothing is deployed. What is meant to differ is
let through with `on_difference="report"`; then the task behind it decides, as `is_meant` does here. The input must be
such that can be read again: files as they are here, or topics, but nothing that is made by the clock.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, task

from airflow_provider_arroyo.operators.rehearse import RehearseOperator
from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.sensors.checkpoint import CheckpointSensor

BEFORE = """
CREATE TABLE orders (at TIMESTAMP NOT NULL, customer TEXT, amount BIGINT, WATERMARK FOR at)
WITH (connector = 'filesystem', type = 'source', path = '{{ params.folder }}/orders', format = 'json',
      'source.watch' = true);
CREATE TABLE totals (start TIMESTAMP, customer TEXT, total BIGINT)
WITH (connector = 'single_file', type = 'sink', path = '{{ params.folder }}/totals', format = 'json');

INSERT INTO totals SELECT w.start, customer, total FROM (
  SELECT tumble(interval '1 hour') AS w, customer, sum(amount) AS total FROM orders GROUP BY w, customer
);
"""
MORE = BEFORE.replace("SELECT w.start, customer, total FROM", "SELECT w.start, customer, total * 100 AS total FROM")

with DAG(
    dag_id="rehearse_then_upgrade",
    schedule=None,
    catchup=False,
    default_args={"retries": 1, "retry_delay": timedelta(seconds=1)},
    params={"folder": "/tmp/arroyo-rehearse-then-upgrade"},  # noqa: S108 - an example, with a folder `orders` in it
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:
    deploy = StreamingSqlOperator(task_id="deploy", pipeline="totals", sql=BEFORE)
    some_state = CheckpointSensor(task_id="some_state", pipeline="totals", poke_interval=1, timeout=300)
    rehearse = RehearseOperator(task_id="rehearse", pipeline="totals", sql=MORE, on_difference="report")

    @task
    def is_meant(rehearsal: dict[str, Any]) -> None:
        """Fail unless each row that differs has one in its place, and no sink but `totals` has any."""
        for sink in rehearsal["sinks"]:
            if sink["only_old"] != sink["only_new"] or (sink["differs"] and sink["sink"] != "totals"):
                raise ValueError(f"{sink['sink']} has other rows: {sink['examples']}")

    upgrade = StreamingSqlOperator(task_id="upgrade", pipeline="totals", sql=MORE)
    stop = StopStreamingJobOperator(task_id="stop", pipeline="totals")

    deploy >> some_state >> rehearse
    is_meant(rehearse.output) >> upgrade >> stop.as_teardown(setups=deploy)


if __name__ == "__main__":
    dag.test()
