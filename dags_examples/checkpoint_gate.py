"""Wait for checkpoints: the first one, and two new ones after that. However that ends, the pipeline is stopped."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG

from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.sensors.checkpoint import CheckpointSensor

SQL = """
CREATE TABLE numbers WITH (connector = 'impulse', event_rate = 100);
CREATE TABLE nowhere WITH (connector = 'blackhole');
INSERT INTO nowhere SELECT counter FROM numbers;
"""

with DAG(
    dag_id="checkpoint_gate",
    schedule=None,
    max_active_runs=1,
    catchup=False,
    default_args={"retries": 1, "retry_delay": timedelta(seconds=1)},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:
    deploy = StreamingSqlOperator(task_id="deploy", pipeline="numbers", sql=SQL)
    first = CheckpointSensor(task_id="first", pipeline="numbers", poke_interval=1, timeout=300)
    two_more = CheckpointSensor(task_id="two_more", pipeline="numbers", new=2, poke_interval=1, timeout=300)
    stop = StopStreamingJobOperator(task_id="stop", pipeline="numbers")

    deploy >> first >> two_more >> stop.as_teardown(setups=deploy)


if __name__ == "__main__":
    dag.test()
