"""Reprocess the input of a running query from the first order on, and let the query continue with the result.

`again` makes a second pipeline that reads all orders once more and writes into a folder of its own, and ends when the
first one goes on with the state of that, at exactly the next order: no order is counted twice, and none is missing. The
input must be such that can be read again: files as they are here, or topics, but nothing that is made by the clock.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from airflow.sdk import DAG, task

from airflow_provider_arroyo.operators.delete import DeletePipelineOperator
from airflow_provider_arroyo.operators.reprocess import ReprocessOperator
from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.sensors.watermark import WatermarkSensor

HOME = os.environ.get("AIRFLOW_HOME", str(Path.home() / "airflow"))
FOLDER = os.environ.get("ARROYO_EXAMPLE_FOLDER", f"{HOME}/arroyo_example")
PIPELINE = "amounts_{{ dag_run.run_after | ts_nodash }}"
"""Each run has pipelines and files of its own, so that it can be played again."""

SQL = """
CREATE TABLE orders (at TIMESTAMP NOT NULL, amount BIGINT, WATERMARK FOR at) WITH (
    connector = 'filesystem', type = 'source', format = 'json', 'source.watch' = true,
    path = '{{ params.folder }}/reprocessed/{{ dag_run.run_after | ts_nodash }}/orders'
);
CREATE TABLE hours (start TIMESTAMP, amount BIGINT) WITH (
    connector = 'single_file', type = 'sink', format = 'json',
    path = '{{ params.folder }}/reprocessed/{{ dag_run.run_after | ts_nodash }}/hours.json'
);
INSERT INTO hours SELECT hour.start, amount FROM (
    SELECT tumble(interval '1 hour') AS hour, sum(amount) AS amount FROM orders GROUP BY 1
);
"""

with DAG(
    dag_id="reprocess_and_hand_over",
    schedule=None,
    catchup=False,
    max_active_runs=1,
    params={"folder": FOLDER},
    default_args={"retries": 1, "retry_delay": timedelta(seconds=1)},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:

    @task
    def write_orders(folder: str, hour: int) -> None:
        """Put two hours of orders into the folder that the stream watches, at once: one every 400 ms."""
        import json

        path = Path(folder) / "orders" / f"{hour:02}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        first = datetime(2026, 1, 1, hour, tzinfo=UTC)
        times = [(first + number * timedelta(milliseconds=400)).isoformat() for number in range(18_000)]
        part = Path(folder) / f"{hour:02}.part"
        part.write_text("".join(f"{json.dumps({'at': time, 'amount': 1})}\n" for time in times))
        part.rename(path)

    folder = "{{ params.folder }}/reprocessed/{{ dag_run.run_after | ts_nodash }}"
    history = write_orders.override(task_id="history")(folder, 0)
    deploy = StreamingSqlOperator(task_id="deploy", pipeline=PIPELINE, sql=SQL)
    first_hour = WatermarkSensor(
        task_id="first_hour", pipeline=PIPELINE, past="2026-01-01T01:00:00Z", poke_interval=1, timeout=300
    )
    again = ReprocessOperator(
        task_id="again",
        pipeline=PIPELINE,
        into="again",
        start_from="orders=earliest",
        hand_over=True,
        deferrable=True,
        wait_timeout=timedelta(hours=6),
    )
    more = write_orders.override(task_id="more")(folder, 2)
    goes_on = WatermarkSensor(
        task_id="goes_on", pipeline=PIPELINE, past="2026-01-01T03:00:00Z", poke_interval=1, timeout=300
    )
    again_name = "{{ ti.xcom_pull(task_ids='again')['name'] }}"
    delete_second = DeletePipelineOperator(task_id="delete_second", pipeline=again_name, with_savepoints=True)
    stop = StopStreamingJobOperator(task_id="stop", pipeline=PIPELINE)

    history >> deploy >> first_hour >> again >> more >> goes_on >> stop.as_teardown(setups=deploy)
    again >> delete_second


if __name__ == "__main__":
    dag.test()
