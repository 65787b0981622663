"""Stop a pipeline for the time of a maintenance, and start it again where it has stopped, without its script."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, task

from airflow_provider_arroyo.operators.start import StartStreamingJobOperator
from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.sensors.checkpoint import CheckpointSensor

SQL = """
CREATE TABLE readings WITH (connector = 'impulse', event_rate = 100);
CREATE TABLE nowhere WITH (connector = 'blackhole');
INSERT INTO nowhere SELECT counter FROM readings;
"""


@task
def maintain() -> str:
    """Do what the pipeline must not run for."""
    return "done"


with DAG(
    dag_id="maintenance_window",
    schedule=None,
    max_active_runs=1,
    catchup=False,
    default_args={"retries": 1, "retry_delay": timedelta(seconds=1)},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:
    deploy = StreamingSqlOperator(task_id="deploy", pipeline="maintained", sql=SQL)
    pause = StopStreamingJobOperator(task_id="pause", pipeline="maintained")
    resume = StartStreamingJobOperator(task_id="resume", pipeline="maintained")
    goes_on = CheckpointSensor(task_id="goes_on", pipeline="maintained", new=1, poke_interval=1, timeout=300)
    stop = StopStreamingJobOperator(task_id="stop", pipeline="maintained")

    deploy >> pause >> maintain() >> resume >> goes_on >> stop.as_teardown(setups=deploy)


if __name__ == "__main__":
    dag.test()
