"""A stream writes hours; a batch task reads an hour as soon as it is complete, and never before.

The pipeline outlives a savepoint and a change of parallelism. Both happen in the middle of the second
hour, and that hour is as complete as the first.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, task

from airflow_provider_arroyo.operators.rescale import RescaleOperator
from airflow_provider_arroyo.operators.savepoint import SavepointOperator
from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.sensors.watermark import WatermarkSensor

PIPELINE = "hourly_orders"
START = "2026-01-01T00:00:00Z"
HOME = os.environ.get("AIRFLOW_HOME", str(Path.home() / "airflow"))
FOLDER = os.environ.get("ARROYO_EXAMPLE_FOLDER", f"{HOME}/arroyo_example")

with DAG(
    dag_id="hourly_batch_gate",
    schedule=None,
    catchup=False,
    max_active_runs=1,
    params={"folder": FOLDER, "start": START},
    default_args={"retries": 2, "retry_delay": timedelta(seconds=1)},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:

    @task(multiple_outputs=True)
    def hour_of(instant: str) -> dict[str, str]:
        """Find the hour of event time that an instant is in."""
        start = datetime.fromisoformat(instant).replace(minute=0, second=0, microsecond=0)
        return {"start": start.isoformat(), "end": (start + timedelta(hours=1)).isoformat()}

    @task
    def read_hour(folder: str, hour: str) -> dict[str, Any]:
        """Read one hour's partition, no other, and write how much each shop has sold."""
        import pyarrow.dataset as ds
        import pyarrow.parquet as pq

        partition = f"{datetime.fromisoformat(hour):%Y-%m-%d-%H}"
        orders = ds.dataset(Path(folder) / "by_hour" / partition, format="parquet").to_table()
        sold = orders.group_by("shop").aggregate([("order_id", "count"), ("cents", "sum")])
        sold = sold.rename_columns({"order_id_count": "orders", "cents_sum": "cents"}).sort_by("shop")
        answers = Path(folder) / "answers"
        answers.mkdir(parents=True, exist_ok=True)
        pq.write_table(sold, answers / f"{partition}.parquet")
        return {
            "hour": hour,
            "orders": orders.num_rows,
            "shops": sold.num_rows,
            "table": f"{answers}/{partition}.parquet",
        }

    deploy = StreamingSqlOperator(
        task_id="deploy",
        pipeline=PIPELINE,
        sql="hourly_orders.sql",
        parallelism=1,
        settings={"quick": "true"},  # a pipeline that lives for minutes: soon there matters more than fast at its best
        doc_md="Let the pipeline run: one script, one job on Spark, which outlives this task.",
    )

    first_hour = hour_of.override(task_id="first_hour")("{{ params.start }}")
    first_hour_is_complete = WatermarkSensor(
        task_id="first_hour_is_complete",
        pipeline=PIPELINE,
        past="{{ ti.xcom_pull(task_ids='first_hour')['end'] }}",
        table="by_hour",
        deferrable=True,
        poke_interval=1,
        timeout=timedelta(minutes=10),
        doc_md="Wait, on no worker, until all orders of the hour are in the output that can be read.",
    )
    read_first_hour = read_hour.override(task_id="read_first_hour")("{{ params.folder }}", first_hour["start"])

    savepoint = SavepointOperator(
        task_id="savepoint",
        pipeline=PIPELINE,
        savepoint_label="before the rescale of {{ run_id }}",
        poll_interval=1,
        doc_md="Keep a copy of the pipeline's state, while it runs.",
    )
    rescale = RescaleOperator(
        task_id="rescale",
        pipeline=PIPELINE,
        parallelism=2,
        poll_interval=1,
        doc_md="Go on with two tasks instead of one, from the very row where it stopped.",
    )

    cut_hour = hour_of.override(task_id="cut_hour")("{{ ti.xcom_pull(task_ids='savepoint')['watermark'] }}")
    cut_hour_is_complete = WatermarkSensor(
        task_id="cut_hour_is_complete",
        pipeline=PIPELINE,
        past="{{ ti.xcom_pull(task_ids='cut_hour')['end'] }}",
        table="by_hour",
        deferrable=True,
        poke_interval=1,
        timeout=timedelta(minutes=10),
        doc_md="Wait for the end of the hour in which the pipeline was rescaled.",
    )
    read_cut_hour = read_hour.override(task_id="read_cut_hour")("{{ params.folder }}", cut_hour["start"])

    stop = StopStreamingJobOperator(
        task_id="stop",
        pipeline=PIPELINE,
        poll_interval=1,
        doc_md="Finish the epoch in hand and stop. Deployed again, it would go on from there.",
    )

    deploy >> first_hour >> first_hour_is_complete >> read_first_hour >> savepoint >> rescale
    rescale >> cut_hour >> cut_hour_is_complete >> read_cut_hour >> stop


if __name__ == "__main__":
    dag.test()
