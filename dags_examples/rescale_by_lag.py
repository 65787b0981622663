"""Give a stream that falls behind more tasks, and see that it runs again and its output is not old.

Event time is made to go a tenth as fast as the clock, so that it falls behind within seconds.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG

from airflow_provider_arroyo.operators.rescale import RescaleOperator
from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.sensors.freshness import FreshnessSensor
from airflow_provider_arroyo.sensors.job_state import StreamingJobSensor
from airflow_provider_arroyo.sensors.lag import LagSensor

SQL = """
CREATE TABLE readings (
    counter BIGINT UNSIGNED NOT NULL,
    read_at TIMESTAMP NOT NULL METADATA FROM 'timestamp',
    WATERMARK FOR read_at AS read_at
) WITH (connector = 'impulse', event_rate = 100, event_time_interval = INTERVAL '1 millisecond');
CREATE TABLE nowhere WITH (connector = 'blackhole');
INSERT INTO nowhere SELECT counter FROM readings;
"""

with DAG(
    dag_id="rescale_by_lag",
    schedule=None,
    max_active_runs=1,
    catchup=False,
    default_args={"retries": 1, "retry_delay": timedelta(seconds=1)},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:
    deploy = StreamingSqlOperator(task_id="deploy", pipeline="readings", sql=SQL)
    behind = LagSensor(
        task_id="behind",
        pipeline="readings",
        at_least=timedelta(seconds=8),
        steady=timedelta(seconds=2),
        poke_interval=1,
        timeout=300,
    )
    more_tasks = RescaleOperator(task_id="more_tasks", pipeline="readings", parallelism=2)
    runs = StreamingJobSensor(task_id="runs", pipeline="readings", state="running", poke_interval=1, timeout=300)
    fresh = FreshnessSensor(
        task_id="fresh", pipeline="readings", at_most=timedelta(hours=1), poke_interval=1, timeout=300
    )
    stop = StopStreamingJobOperator(task_id="stop", pipeline="readings")

    deploy >> behind >> more_tasks >> runs >> fresh >> stop.as_teardown(setups=deploy)


if __name__ == "__main__":
    dag.test()
