"""Read the history of a directory day by day, then once more from its first day on and go on with what comes."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG, task

from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.stream_backfill import StreamBackfillOperator
from airflow_provider_arroyo.sensors.checkpoint import CheckpointSensor

HOME = os.environ.get("AIRFLOW_HOME", str(Path.home() / "airflow"))
FOLDER = os.environ.get("ARROYO_EXAMPLE_FOLDER", f"{HOME}/arroyo_example")

SQL = """
CREATE TABLE orders (at TIMESTAMP NOT NULL, shop TEXT) WITH (
    connector = 'filesystem', type = 'source', format = 'json', path = '{{ params.folder }}/orders',
    source.watch = true, event_time_field = 'at'
);
CREATE TABLE hours (hour TIMESTAMP, shop TEXT, orders BIGINT) WITH (
    connector = 'filesystem', type = 'sink', format = 'json', path = '{{ params.folder }}/%s'
);
INSERT INTO hours SELECT w.start, shop, orders
FROM (SELECT tumble(INTERVAL '1 hour') AS w, shop, count(*) AS orders FROM orders GROUP BY 1, 2);
"""


@task(retries=1)
def write_orders(folder: str) -> None:
    """Write two days of orders, one every hour."""
    target = Path(folder) / "orders"
    target.mkdir(parents=True, exist_ok=True)
    lines = [f'{{"at": "2026-01-0{day}T{hour:02}:30:00Z", "shop": "a"}}\n' for day in (1, 2) for hour in range(24)]
    (target / "history.json").write_text("".join(lines))


with DAG(
    dag_id="backfill_then_stream",
    schedule=None,
    max_active_runs=1,
    catchup=False,
    params={"folder": FOLDER},
    default_args={"retries": 1, "retry_delay": timedelta(seconds=1)},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:
    first_day = StreamBackfillOperator(
        task_id="first_day",
        pipeline="orders",
        sql=SQL % "days/2026-01-01",
        start="2026-01-01T00:00:00Z",  # left out, these are the edges of the run's data interval
        end="2026-01-02T00:00:00Z",
        wait_timeout=timedelta(hours=1),
    )
    stream = StreamBackfillOperator(
        task_id="stream",
        pipeline="orders",
        sql=SQL % "hours",
        start="2026-01-01T00:00:00Z",
        then_continue=True,
        wait_timeout=timedelta(hours=1),
    )
    goes_on = CheckpointSensor(task_id="goes_on", pipeline="orders", epoch=0, poke_interval=1, timeout=300)
    stop = StopStreamingJobOperator(task_id="stop", pipeline="orders")

    write_orders("{{ params.folder }}") >> first_day >> stream >> goes_on >> stop.as_teardown(setups=stream)


if __name__ == "__main__":
    dag.test()
