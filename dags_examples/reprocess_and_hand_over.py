"""Build the output of a running query anew from the first day on, beside it, and let the query go on with that."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG

from airflow_provider_arroyo.operators.reprocess import ReprocessOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.sensors.checkpoint import CheckpointSensor

ORDERS = """
CREATE TABLE orders (at TIMESTAMP NOT NULL, amount BIGINT) WITH (
    connector = 'kafka', bootstrap_servers = 'broker:9092', topic = 'orders', format = 'json', type = 'source',
    event_time_field = 'at', source.offset = 'earliest'
);
CREATE TABLE hours (start TIMESTAMP, amount BIGINT) WITH (
    connector = 'delta', path = '/lake/hours', type = 'sink'
);
INSERT INTO hours SELECT hour.start, amount FROM (
    SELECT tumble(interval '1 hour') AS hour, sum(amount) AS amount FROM orders GROUP BY 1
);
"""

with DAG(
    dag_id="reprocess_and_hand_over",
    schedule=None,
    catchup=False,
    default_args={"retries": 1, "retry_delay": timedelta(seconds=10)},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:
    deploy = StreamingSqlOperator(task_id="deploy", pipeline="hours", sql=ORDERS)
    again = ReprocessOperator(
        task_id="again",
        pipeline="hours",
        into="{{ ds_nodash }}",
        start_from="orders=earliest",
        hand_over=True,
        deferrable=True,
        wait_timeout=timedelta(hours=6),
    )
    goes_on = CheckpointSensor(task_id="goes_on", pipeline="hours", new=2, poke_interval=5, timeout=600)

    deploy >> again >> goes_on


if __name__ == "__main__":
    dag.test()
