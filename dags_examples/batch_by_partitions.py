"""A batch for each hour of a stream: it starts by itself once the hour is complete, exactly once, and no task waits.

`batch_by_partitions` hands on one hour with each of its runs, and the next run begins when one has ended. Each hour
is an event of the asset, with the hour as its partition and a certificate of what it stands on. `batch_of_an_hour` is
started by it.

Pause the first to hold all up: what is handed on while a batch is paused starts nothing there.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Asset, PartitionedAssetTimetable, task

from airflow_provider_arroyo.operators.next_partition import NextPartitionOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator

HOME = os.environ.get("AIRFLOW_HOME", str(Path.home() / "airflow"))
FOLDER = os.environ.get("ARROYO_EXAMPLE_FOLDER", f"{HOME}/arroyo_example")
PIPELINE = "visits_by_hour"

SQL = """
CREATE TABLE visits WITH (
    connector = 'impulse',
    event_rate = 2000,
    event_time_interval = INTERVAL '1 second',
    start_time = '2026-01-01T00:00:00Z'
);
CREATE TABLE per_hour (hour TIMESTAMP, visits BIGINT) WITH (
    connector = 'single_file', type = 'sink', format = 'json', path = '{{ params.folder }}/visits_by_hour.json'
);
INSERT INTO per_hour
SELECT window.start, visits
FROM (SELECT tumble(INTERVAL '1 hour') AS window, count(*) AS visits FROM visits GROUP BY 1);
"""

hours = Asset("hours_of_visits")

with DAG(
    dag_id="batch_by_partitions",
    schedule="@continuous",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    max_consecutive_failed_dag_runs=3,
    params={"folder": FOLDER},
    default_args={"retries": 2, "retry_delay": timedelta(seconds=10)},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:
    deploy = StreamingSqlOperator(task_id="deploy", pipeline=PIPELINE, sql=SQL)
    next_hour = NextPartitionOperator(
        task_id="next_hour",
        pipeline=PIPELINE,
        partitions=hours,
        every=timedelta(hours=1),
        consumer="hours_of_visits",
        start="2026-01-01T00:00:00Z",
    )
    deploy >> next_hour

with DAG(
    dag_id="batch_of_an_hour",
    schedule=PartitionedAssetTimetable(assets=hours),
    catchup=False,
    params={"folder": FOLDER},
    default_args={"retries": 2, "retry_delay": timedelta(seconds=10)},
    tags=["arroyo", "example"],
) as batch:

    @task
    def count_visits(folder: str, dag_run: Any = None) -> dict[str, int]:
        """Count the visits of the hour that this run is of."""
        import json

        hour = datetime.fromisoformat(dag_run.partition_key)
        with (Path(folder) / "visits_by_hour.json").open() as file:
            rows = [json.loads(line) for line in file]
        return {
            row["hour"]: row["visits"]
            for row in rows
            if datetime.fromisoformat(row["hour"]).replace(tzinfo=None) == hour
        }

    count_visits("{{ params.folder }}")


if __name__ == "__main__":
    dag.test()
