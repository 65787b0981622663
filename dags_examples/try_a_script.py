"""A script is tried before it is relied on: a pipeline is deployed for the test alone, and deleted after it.

`temporary_pipeline` is a setup and a teardown: the pipeline goes also when the test fails, or the deployment itself. It
has a name of its own in each run and writes under a prefix of that run, so the script stays as it is in production.
"""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, task

from airflow_provider_arroyo.temporary_pipeline import OF_RUN, temporary_pipeline

HOME = os.environ.get("AIRFLOW_HOME", str(Path.home() / "airflow"))
FOLDER = os.environ.get("ARROYO_EXAMPLE_FOLDER", f"{HOME}/arroyo_example")

TENTHS = """
CREATE TABLE numbers WITH (connector = 'impulse', event_rate = 1000, message_count = 300);
CREATE TABLE tenths (n BIGINT) WITH (
    connector = 'single_file', type = 'sink', format = 'json', path = '{{ params.folder }}/tenths.json'
);
INSERT INTO tenths SELECT counter AS n FROM numbers WHERE counter % 10 = 0;
"""

with DAG(
    dag_id="try_a_script",
    schedule=None,
    catchup=False,
    params={"folder": FOLDER},
    default_args={"retries": 1, "retry_delay": timedelta(seconds=1)},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:

    @task
    def check(deployed: dict[str, Any], folder: str, prefix: str) -> int:
        """Compare what was written with what must come of the input."""
        lines = (Path(folder) / prefix / "tenths.json").read_text().splitlines()
        numbers = sorted(json.loads(line)["n"] for line in lines)
        if numbers != list(range(0, 300, 10)):
            raise ValueError(f"{deployed['name']} has written {numbers}")
        return len(numbers)

    with temporary_pipeline("tenths", sql=TENTHS, settings={"quick": "true"}, wait_for="finished") as tenths:
        check(tenths.output, "{{ params.folder }}", OF_RUN)


if __name__ == "__main__":
    dag.test()
