"""One task deploys a stream and waits until its output is complete up to an instant; the next reads up to there.

`wait_for="complete"` is a gate in the operator itself. In a DAG with a schedule `past` can be left out: it is the end
of the run's data interval then.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

from airflow.sdk import DAG, task

from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator

HOME = os.environ.get("AIRFLOW_HOME", str(Path.home() / "airflow"))
FOLDER = os.environ.get("ARROYO_EXAMPLE_FOLDER", f"{HOME}/arroyo_example")
UNTIL = "2026-01-01T02:00:00+00:00"

SQL = """
CREATE TABLE clicks WITH (
    connector = 'impulse',
    event_rate = 2000,
    event_time_interval = INTERVAL '1 second',
    start_time = '2026-01-01T00:00:00Z'
);
CREATE TABLE per_hour (hour TIMESTAMP, clicks BIGINT) WITH (
    connector = 'single_file', type = 'sink', format = 'json', path = '{{ params.folder }}/clicks_per_hour.json'
);
INSERT INTO per_hour
SELECT window.start, clicks
FROM (SELECT tumble(INTERVAL '1 hour') AS window, count(*) AS clicks FROM clicks GROUP BY 1);
"""

with DAG(
    dag_id="complete_hours",
    schedule=None,
    catchup=False,
    max_active_runs=1,
    params={"folder": FOLDER, "until": UNTIL},
    default_args={"retries": 1, "retry_delay": timedelta(seconds=1)},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:
    deploy = StreamingSqlOperator(
        task_id="deploy",
        pipeline="clicks_per_hour",
        sql=SQL,
        wait_for="complete",
        past="{{ params.until }}",
        wait_timeout=timedelta(minutes=30),
    )

    @task
    def count_clicks(folder: str, until: str) -> dict[str, int]:
        """Count the clicks of each hour before the instant; later hours may be there, too, and say nothing yet."""
        import json

        end = datetime.fromisoformat(until).replace(tzinfo=None)
        with (Path(folder) / "clicks_per_hour.json").open() as file:
            hours = [json.loads(line) for line in file]
        return {
            hour["hour"]: hour["clicks"]
            for hour in hours
            if datetime.fromisoformat(hour["hour"]).replace(tzinfo=None) < end
        }

    stop = StopStreamingJobOperator(task_id="stop", pipeline="clicks_per_hour")

    deploy >> count_clicks("{{ params.folder }}", "{{ params.until }}") >> stop.as_teardown(setups=deploy)


if __name__ == "__main__":
    dag.test()
