"""A DAG that starts by itself with each hour of a stream that is complete, and no task waits for it.

The triggerer watches the stream, and each hour becomes an event of the asset. Several that come at once may start one
run, which gets all of them. For one run per hour see `batch_by_partitions`.

`watched_hours_stream` deploys the stream; until then the watcher asks again now and then.
"""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Asset, AssetWatcher, task

from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.triggers.partition import WatermarkEventTrigger

HOME = os.environ.get("AIRFLOW_HOME", str(Path.home() / "airflow"))
FOLDER = os.environ.get("ARROYO_EXAMPLE_FOLDER", f"{HOME}/arroyo_example")
PIPELINE = "watched_visits"

SQL = """
CREATE TABLE visits WITH (
    connector = 'impulse',
    event_rate = 2000,
    event_time_interval = INTERVAL '1 second',
    start_time = '2026-01-01T00:00:00Z'
);
CREATE TABLE per_hour (hour TIMESTAMP, visits BIGINT) WITH (
    connector = 'single_file', type = 'sink', format = 'json', path = '{{ params.folder }}/visits_per_hour.json'
);
INSERT INTO per_hour
SELECT window.start, visits
FROM (SELECT tumble(INTERVAL '1 hour') AS window, count(*) AS visits FROM visits GROUP BY 1);
"""

hours = Asset(
    "complete_hours_of_visits",
    watchers=[
        AssetWatcher(
            name="complete_hours",
            trigger=WatermarkEventTrigger(
                pipeline=PIPELINE, every=timedelta(hours=1), consumer="watched_hours", start="2026-01-01T00:00:00Z"
            ),
        )
    ],
)

with DAG(
    dag_id="watched_hours",
    schedule=[hours],
    catchup=False,
    default_args={"retries": 2, "retry_delay": timedelta(seconds=10)},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:

    @task
    def list_hours(triggering_asset_events: Any = None) -> list[str]:
        """Say which hours this run is of; one that comes again after a crash of the triggerer is named once."""
        payloads = [event.extra["payload"] for events in triggering_asset_events.values() for event in events]
        by_id = {payload["delivery"]: payload for payload in payloads}
        return [f"{payload['kind']} {payload['key']}" for payload in by_id.values()]

    list_hours()

with DAG(
    dag_id="watched_hours_stream",
    schedule=None,
    catchup=False,
    params={"folder": FOLDER},
    default_args={"retries": 2, "retry_delay": timedelta(seconds=10)},
    tags=["arroyo", "example"],
) as stream:
    StreamingSqlOperator(task_id="deploy", pipeline=PIPELINE, sql=SQL)


if __name__ == "__main__":
    stream.test()
    dag.test()
