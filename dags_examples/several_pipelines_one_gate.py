"""Two streams write, and one batch reads both as soon as both are complete up to the same instant.

The gate opens when all of its pipelines have passed the instant at one look; with `need="any"` the first would do. Its
result has a certificate for each of them. In a DAG with a schedule `past` can be left out: it is the end of the run's
data interval then.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

from airflow.sdk import DAG, task

from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.sensors.watermark import WatermarkSensor

HOME = os.environ.get("AIRFLOW_HOME", str(Path.home() / "airflow"))
FOLDER = os.environ.get("ARROYO_EXAMPLE_FOLDER", f"{HOME}/arroyo_example")
UNTIL = "2026-01-01T02:00:00+00:00"
STREAMS = {"visits": 1000, "sales": 100}

SQL = """
CREATE TABLE events WITH (
    connector = 'impulse',
    event_rate = {rate},
    event_time_interval = INTERVAL '1 second',
    start_time = '2026-01-01T00:00:00Z'
);
CREATE TABLE hours (hour TIMESTAMP, number BIGINT) WITH (
    connector = 'single_file', type = 'sink', format = 'json', path = '{{{{ params.folder }}}}/{name}_per_hour.json'
);
INSERT INTO hours
SELECT window.start, number
FROM (SELECT tumble(INTERVAL '1 hour') AS window, count(*) AS number FROM events GROUP BY 1);
"""

with DAG(
    dag_id="several_pipelines_one_gate",
    schedule=None,
    catchup=False,
    max_active_runs=1,
    params={"folder": FOLDER, "until": UNTIL},
    default_args={"retries": 1, "retry_delay": timedelta(seconds=1)},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:
    gate = WatermarkSensor(
        task_id="both_complete",
        pipeline=[f"{name}_per_hour/hours" for name in STREAMS],
        past="{{ params.until }}",
        timeout=1800,
    )

    @task
    def compare(folder: str, until: str) -> dict[str, list[int]]:
        """Read the visits and the sales of each hour before the instant."""
        import json

        end = datetime.fromisoformat(until).replace(tzinfo=None)
        rows: dict[str, list[int]] = {}
        for name in ("visits", "sales"):
            with (Path(folder) / f"{name}_per_hour.json").open() as file:
                for hour in map(json.loads, file):
                    if datetime.fromisoformat(hour["hour"]).replace(tzinfo=None) < end:
                        rows.setdefault(hour["hour"], []).append(hour["number"])
        return rows

    compared = compare("{{ params.folder }}", "{{ params.until }}")
    for name, rate in STREAMS.items():
        pipeline = f"{name}_per_hour"
        deploy = StreamingSqlOperator(task_id=f"deploy_{name}", pipeline=pipeline, sql=SQL.format(name=name, rate=rate))
        stop = StopStreamingJobOperator(task_id=f"stop_{name}", pipeline=pipeline)
        deploy >> gate >> compared >> stop.as_teardown(setups=deploy)


if __name__ == "__main__":
    dag.test()
