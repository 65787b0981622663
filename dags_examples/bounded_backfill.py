"""A pipeline whose input ends: the task waits until it is finished, and stops it when a user gives up waiting.

What it has written then becomes events of assets by the alias `clicks_per_hour`, on which other DAGs can be scheduled.
"""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG, AssetAlias

from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator

HOME = os.environ.get("AIRFLOW_HOME", str(Path.home() / "airflow"))
FOLDER = os.environ.get("ARROYO_EXAMPLE_FOLDER", f"{HOME}/arroyo_example")

SQL = """
CREATE TABLE clicks WITH (
    connector = 'impulse',
    event_rate = 100000,
    event_time_interval = INTERVAL '1 second',
    message_count = 20000,
    start_time = '2026-01-01T00:00:00Z'
);
CREATE TABLE per_hour WITH (
    connector = 'filesystem',
    type = 'sink',
    format = 'parquet',
    path = '{{ params.folder }}/clicks/{{ ds_nodash }}'
);
INSERT INTO per_hour
SELECT window.start AS hour, clicks
FROM (SELECT tumble(INTERVAL '1 hour') AS window, count(*) AS clicks FROM clicks GROUP BY 1);
"""

with DAG(
    dag_id="bounded_backfill",
    schedule=None,
    catchup=False,
    params={"folder": FOLDER},
    default_args={"retries": 1, "retry_delay": timedelta(seconds=1)},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:
    StreamingSqlOperator(
        task_id="backfill",
        pipeline="clicks_{{ ds_nodash }}",
        sql=SQL,
        wait_for="finished",
        wait_timeout=timedelta(hours=1),
        on_kill="stop",
        deferrable=True,
        outlets=[AssetAlias("clicks_per_hour")],
    )


if __name__ == "__main__":
    dag.test()
