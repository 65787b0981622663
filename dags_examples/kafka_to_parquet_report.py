"""Orders come over Kafka, land in Parquet by the hour, and DuckDB makes the report of an hour once it is complete.

From the topic into the files each order comes exactly once, and the gate opens when those of the hour are all there: so
the report is written once, and is right. DuckDB reads the directory of the hour, and knows nothing of the stream.

Needs the extra `kafka`, DuckDB where tasks run (`pip install duckdb`), and a connection `shop_kafka` with the brokers
as its host (`broker:9092`); `kafka_secrets` shows how to log in. An empty topic is filled with two hours of orders.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, task

from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.sensors.watermark import WatermarkSensor

HOME = os.environ.get("AIRFLOW_HOME", str(Path.home() / "airflow"))
FOLDER = os.environ.get("ARROYO_EXAMPLE_FOLDER", f"{HOME}/arroyo_example")
PIPELINE = "orders_by_hour"

SQL = """
CREATE TABLE orders (
    id BIGINT NOT NULL,
    shop TEXT NOT NULL,
    cents BIGINT NOT NULL,
    ordered_at TIMESTAMP NOT NULL,
    WATERMARK FOR ordered_at AS ordered_at - INTERVAL '5 seconds'
) WITH (
    connector = 'kafka', type = 'source', format = 'json',
    bootstrap_servers = '{{ conn.shop_kafka.host }}',
    topic = '{{ params.topic }}', 'source.offset' = 'earliest'
);
CREATE TABLE by_hour WITH (
    connector = 'filesystem', type = 'sink', format = 'parquet',
    path = '{{ params.folder }}/orders_by_hour',
    'partitioning.time_pattern' = '%Y-%m-%d-%H'
);
INSERT INTO by_hour SELECT id, shop, cents, ordered_at FROM orders;
"""

with DAG(
    dag_id="kafka_to_parquet_report",
    schedule=None,
    catchup=False,
    max_active_runs=1,
    params={"folder": FOLDER, "topic": "shop_orders", "hour": "2026-01-01T00:00:00+00:00"},
    default_args={"retries": 2, "retry_delay": timedelta(seconds=1)},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:

    @task
    def fill(brokers: str, topic: str, hour: str) -> int:
        """Make the topic and put two hours of orders into it, all at once or none, unless it has some; say how many
        it has."""
        import json

        from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
        from confluent_kafka.admin import AdminClient, NewTopic

        there = {"bootstrap.servers": brokers}
        admin = AdminClient(there)
        try:
            admin.create_topics([NewTopic(topic, 1)])[topic].result(60)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
        producer = Producer({**there, "transactional.id": f"example-{topic}"})
        producer.init_transactions(60)  # what an attempt before this one has begun counts for nothing now
        reader = Consumer({**there, "group.id": "example"})
        _, end = reader.get_watermark_offsets(TopicPartition(topic, 0), timeout=60)
        reader.close()
        if end > 0:
            return int(end)
        begin, count = datetime.fromisoformat(hour), 18_000
        producer.begin_transaction()
        for number in range(count):
            at = (begin + number * timedelta(milliseconds=400)).isoformat()
            order = {"id": number, "shop": f"shop {number % 7}", "cents": number * 37 % 1000, "ordered_at": at}
            producer.produce(topic, json.dumps(order))
            producer.poll(0)
        producer.commit_transaction(60)
        return count

    deploy = StreamingSqlOperator(task_id="deploy", pipeline=PIPELINE, sql=SQL)

    hour_is_complete = WatermarkSensor(
        task_id="hour_is_complete",
        pipeline=f"{PIPELINE}/by_hour",
        past="{{ macros.datetime.fromisoformat(params.hour) + macros.timedelta(hours=1) }}",
        timeout=timedelta(minutes=30),
    )

    @task
    def report(folder: str, hour: str) -> dict[str, Any]:
        """Write how much each shop has sold in the hour, and return it."""
        import duckdb

        name = f"{datetime.fromisoformat(hour).astimezone(UTC):%Y-%m-%d-%H}"
        written = Path(folder) / "reports" / f"{name}.parquet"
        written.parent.mkdir(parents=True, exist_ok=True)
        with duckdb.connect() as database:
            orders = database.read_parquet(f"{folder}/orders_by_hour/{name}/*.parquet")
            sold = orders.aggregate("shop, count(*) AS orders, sum(cents)::BIGINT AS cents").order("shop")
            part = written.with_suffix(".part")
            sold.write_parquet(str(part))
            part.replace(written)  # readers find the complete file, or none
            return {"report": str(written), "sold": {shop: [count, cents] for shop, count, cents in sold.fetchall()}}

    stop = StopStreamingJobOperator(task_id="stop", pipeline=PIPELINE)

    filled = fill("{{ conn.shop_kafka.host }}", "{{ params.topic }}", "{{ params.hour }}")
    reported = report("{{ params.folder }}", "{{ params.hour }}")
    filled >> deploy >> hour_is_complete >> reported >> stop.as_teardown(setups=deploy)


if __name__ == "__main__":
    dag.test()
