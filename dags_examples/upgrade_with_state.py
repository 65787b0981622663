"""Change a running query and keep what it knows: see the plan, then upgrade. Counts of open minutes go on."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG

from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.operators.upgrade_plan import UpgradePlanOperator
from airflow_provider_arroyo.sensors.checkpoint import CheckpointSensor

BEFORE = """
CREATE TABLE numbers WITH (connector = 'impulse', event_rate = 100);
CREATE TABLE minutes WITH (connector = 'blackhole');
CREATE TABLE busy_minutes WITH (connector = 'blackhole');

INSERT INTO minutes SELECT count(*) AS n FROM numbers GROUP BY tumble(interval '1 minute');
"""
MORE = """
INSERT INTO busy_minutes SELECT count(*) AS n FROM numbers GROUP BY tumble(interval '1 minute') HAVING count(*) > 5000;
"""

with DAG(
    dag_id="upgrade_with_state",
    schedule=None,
    max_active_runs=1,
    catchup=False,
    default_args={"retries": 1, "retry_delay": timedelta(seconds=1)},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:
    deploy = StreamingSqlOperator(task_id="deploy", pipeline="minutes", sql=BEFORE)
    some_state = CheckpointSensor(task_id="some_state", pipeline="minutes", new=2, poke_interval=1, timeout=300)
    plan = UpgradePlanOperator(task_id="plan", pipeline="minutes", sql=BEFORE + MORE)
    upgrade = StreamingSqlOperator(task_id="upgrade", pipeline="minutes", sql=BEFORE + MORE)
    goes_on = CheckpointSensor(task_id="goes_on", pipeline="minutes", new=2, poke_interval=1, timeout=300)
    stop = StopStreamingJobOperator(task_id="stop", pipeline="minutes")

    deploy >> some_state >> plan >> upgrade >> goes_on >> stop.as_teardown(setups=deploy)


if __name__ == "__main__":
    dag.test()
