"""A batch for each hour of a stream, without a task that waits or a watcher: the control plane pushes the hours.

`pushed_hours` deploys the stream and asks for it, and need not run again. From then on the control plane tells
Airflow's API of each hour that is complete: an event of the asset, with the hour as its partition and a certificate of
what it stands on. `pushed_batch` is started by it.

The control plane must reach Airflow's API server: at `[api] base_url`, or at the parameter `airflow`. Where that is no
public address, it is started with `ARROYO_NET_ALLOW=` and the host. This example is for an Airflow that lets everybody
in; else name `username` and `password_secret`, or `token_secret`.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Asset, PartitionedAssetTimetable, task

from airflow_provider_arroyo.operators.push_partitions import PushPartitionsOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator

HOME = os.environ.get("AIRFLOW_HOME", str(Path.home() / "airflow"))
FOLDER = os.environ.get("ARROYO_EXAMPLE_FOLDER", f"{HOME}/arroyo_example")
PIPELINE = "pushed_visits"

SQL = """
CREATE TABLE visits WITH (
    connector = 'impulse',
    event_rate = 2000,
    event_time_interval = INTERVAL '1 second',
    start_time = '2026-01-01T00:00:00Z'
);
CREATE TABLE per_hour (hour TIMESTAMP, visits BIGINT) WITH (
    connector = 'single_file', type = 'sink', format = 'json', path = '{{ params.folder }}/pushed_visits.json'
);
INSERT INTO per_hour
SELECT window.start, visits
FROM (SELECT tumble(INTERVAL '1 hour') AS window, count(*) AS visits FROM visits GROUP BY 1);
"""

hours = Asset("pushed_hours_of_visits")

with DAG(
    dag_id="pushed_hours",
    schedule=None,
    catchup=False,
    params={"folder": FOLDER, "airflow": ""},
    default_args={"retries": 2, "retry_delay": timedelta(seconds=10)},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:
    deploy = StreamingSqlOperator(task_id="deploy", pipeline=PIPELINE, sql=SQL)
    push = PushPartitionsOperator(
        task_id="push",
        pipeline=PIPELINE,
        partitions=hours,
        every=timedelta(hours=1),
        consumer="pushed_hours_of_visits",
        url="{{ params.airflow }}",
        start="2026-01-01T00:00:00Z",
    )
    deploy >> push

with DAG(
    dag_id="pushed_batch",
    schedule=PartitionedAssetTimetable(assets=hours),
    catchup=False,
    params={"folder": FOLDER},
    default_args={"retries": 2, "retry_delay": timedelta(seconds=10)},
    tags=["arroyo", "example"],
) as batch:

    @task
    def count_visits(folder: str, dag_run: Any = None) -> int:
        """Count the visits of the hour that this run is of."""
        import json

        hour = datetime.fromisoformat(dag_run.partition_key)
        with (Path(folder) / "pushed_visits.json").open() as file:
            rows = [json.loads(line) for line in file]
        return sum(row["visits"] for row in rows if datetime.fromisoformat(row["hour"]).replace(tzinfo=None) == hour)

    count_visits("{{ params.folder }}")


if __name__ == "__main__":
    dag.test()
