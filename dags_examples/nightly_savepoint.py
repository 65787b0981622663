"""Keep a copy of a pipeline's state every night, prove that it can be restored, and say which copies stay.

`deploy`, `some_state` and `stop` are there so that the example runs as it is: elsewhere another DAG deploys the
pipeline, and this one begins with `savepoint`. Without Airflow, `arroyo savepoint schedule` does the same.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG

from airflow_provider_arroyo.operators.savepoint import SavepointOperator
from airflow_provider_arroyo.operators.savepoint_retention import SavepointRetentionOperator
from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.sensors.checkpoint import CheckpointSensor

SQL = """
CREATE TABLE numbers WITH (connector = 'impulse', event_rate = 100);
CREATE TABLE minutes WITH (connector = 'blackhole');
INSERT INTO minutes SELECT count(*) AS n FROM numbers GROUP BY tumble(interval '1 minute');
"""
KEPT = {"keep_last": 3, "daily": 7, "weekly": 8, "max_age": timedelta(days=90), "time_zone": "Europe/Berlin"}

with DAG(
    dag_id="nightly_savepoint",
    schedule=None,  # "30 2 * * *"
    max_active_runs=1,
    catchup=False,
    default_args={"retries": 1, "retry_delay": timedelta(seconds=1)},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:
    deploy = StreamingSqlOperator(task_id="deploy", pipeline="minutes", sql=SQL)
    some_state = CheckpointSensor(task_id="some_state", pipeline="minutes", new=2, poke_interval=1, timeout=300)
    savepoint = SavepointOperator(task_id="savepoint", pipeline="minutes", savepoint_label="{{ run_id }}", drill=True)
    would_go = SavepointRetentionOperator(task_id="would_go", pipeline="minutes", dry_run=True, **KEPT)
    keep = SavepointRetentionOperator(task_id="keep", pipeline="minutes", **KEPT)
    stop = StopStreamingJobOperator(task_id="stop", pipeline="minutes")

    deploy >> some_state >> savepoint >> would_go >> keep >> stop.as_teardown(setups=deploy)


if __name__ == "__main__":
    dag.test()
