"""A pipeline that logs in to Kafka with the password of an Airflow connection.

Needs a broker, and a connection `shop_kafka` with its host (`broker:9092`), login and password. The password is in no
rendered field, no XCom and no answer of the control plane, which keeps it encrypted for the next start. A broker
without TLS needs the parameter `protocol` to be `SASL_PLAINTEXT`: the default sends no password over an open line.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG

from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator

SQL = """
CREATE CONNECTION shop WITH (
    connector = 'kafka',
    bootstrap_servers = '{{ conn.shop_kafka.host }}',
    'auth.protocol' = '{{ params.protocol }}',
    'auth.type' = 'sasl',
    'auth.username' = '{{ conn.shop_kafka.login }}',
    'auth.password' = '${secret:KAFKA}'
);
CREATE TABLE orders (id BIGINT NOT NULL, amount DOUBLE) WITH (
    connection_profile = 'shop', type = 'source', topic = '{{ params.topic }}', format = 'json'
);
CREATE TABLE nowhere WITH (connector = 'blackhole');
INSERT INTO nowhere SELECT id FROM orders;
"""

with DAG(
    dag_id="kafka_secrets",
    schedule=None,
    max_active_runs=1,
    catchup=False,
    params={"topic": "orders", "protocol": "SASL_SSL"},
    default_args={"retries": 1, "retry_delay": timedelta(seconds=1)},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:
    deploy = StreamingSqlOperator(
        task_id="deploy",
        pipeline="shop_orders",
        sql=SQL,
        secrets={"KAFKA": "conn:shop_kafka.password"},
    )
    stop = StopStreamingJobOperator(task_id="stop", pipeline="shop_orders")

    deploy >> stop.as_teardown(setups=deploy)


if __name__ == "__main__":
    dag.test()
