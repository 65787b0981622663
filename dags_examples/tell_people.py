"""Notify people of what Airflow does not know: why a job has failed, its lag, and whether its state was lost.

When a task of this DAG fails, `TELL` says what its pipeline does. The task `look` says it whenever something is wrong
with the pipeline although no task has failed; in a DAG of its own, every five minutes, it watches a stream.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

from airflow_provider_arroyo.notifications.arroyo import ArroyoNotifier
from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.sensors.checkpoint import CheckpointSensor

NUMBERS = """
CREATE TABLE numbers WITH (connector = 'impulse', event_rate = 100);
CREATE TABLE seconds WITH (connector = 'blackhole');
INSERT INTO seconds SELECT count(*) AS n FROM numbers GROUP BY tumble(interval '1 second');
"""
# Without `deliver` the message goes to the task's log. To send it by mail, use
# deliver=SmtpNotifier(to="...", subject="{{ arroyo.headline }}", html_content="{{ arroyo_message }}"), message="html"
TELL = ArroyoNotifier()
WATCH = ArroyoNotifier("told", when=["failed", "lag", "state_lost"], lag=timedelta(minutes=5), message="line")

with DAG(
    dag_id="tell_people",
    schedule=None,
    max_active_runs=1,
    catchup=False,
    default_args={"retries": 1, "retry_delay": timedelta(seconds=1), "on_failure_callback": TELL},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:
    deploy = StreamingSqlOperator(task_id="deploy", pipeline="told", sql=NUMBERS, settings={"quick": "true"})
    some_output = CheckpointSensor(task_id="some_output", pipeline="told", new=2, poke_interval=1, timeout=300)
    look = EmptyOperator(task_id="look", on_success_callback=WATCH)
    stop = StopStreamingJobOperator(task_id="stop", pipeline="told")

    deploy >> some_output >> look >> stop.as_teardown(setups=deploy)


if __name__ == "__main__":
    dag.test()
