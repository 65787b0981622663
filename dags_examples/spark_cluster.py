"""A pipeline that runs on a Spark standalone cluster whose executors share no disk with the driver.

Needs a cluster and a bucket. The control plane runs `arroyo jars` once, and has the credentials of the bucket in the
variables `AWS_*`. `max_cores` leaves the rest of the cluster to others. A query that keeps state, as this one does, is
refused without `state_url` when it is deployed.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG

from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator

SQL = """
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = '100');
CREATE TABLE counts WITH (connector = 'blackhole');
INSERT INTO counts
SELECT counter % 10 AS key, tumble(INTERVAL '10 seconds') AS w, count(*) AS ticks FROM ticks GROUP BY key, w;
"""

with DAG(
    dag_id="spark_cluster",
    schedule=None,
    max_active_runs=1,
    catchup=False,
    params={"master": "spark://spark-master:7077", "state_url": "s3://my-bucket/arroyo"},
    default_args={"retries": 1, "retry_delay": timedelta(seconds=1)},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:
    deploy = StreamingSqlOperator(
        task_id="deploy",
        pipeline="counts_on_a_cluster",
        sql=SQL,
        parallelism=4,
        settings={
            "master": "{{ params.master }}",
            "state_url": "{{ params.state_url }}",
            "executor_memory": "2g",
            "max_cores": "4",
            "spark.network.timeout": "300s",
        },
    )
    stop = StopStreamingJobOperator(task_id="stop", pipeline="counts_on_a_cluster")

    deploy >> stop.as_teardown(setups=deploy)


if __name__ == "__main__":
    dag.test()
