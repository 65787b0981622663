"""Move a running pipeline with its whole state to another control plane, as from a laptop's to that of a cluster.

Needs a connection `arroyo_other` to a second control plane (`arroyo serve --port 5116 --data-dir other` starts one, its
token is in `other/token`), and a place that both reach: the parameter `via`.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG

from airflow_provider_arroyo.operators.move import MoveOperator
from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.sensors.checkpoint import CheckpointSensor

SQL = """
CREATE TABLE clicks WITH (connector = 'impulse', event_rate = '20');
CREATE TABLE nowhere WITH (connector = 'blackhole');
INSERT INTO nowhere SELECT counter FROM clicks;
"""

with DAG(
    dag_id="move_to_another_control_plane",
    schedule=None,
    catchup=False,
    params={"via": "file:///tmp/arroyo-move"},
    default_args={"retries": 2, "retry_delay": timedelta(seconds=5)},
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:
    deploy = StreamingSqlOperator(task_id="deploy", pipeline="moving_clicks", sql=SQL)
    move = MoveOperator(
        task_id="move",
        pipeline="moving_clicks",
        to_conn_id="arroyo_other",
        via="{{ params.via }}",
        poll_interval=1,
    )
    goes_on = CheckpointSensor(
        task_id="goes_on", pipeline="moving_clicks", arroyo_conn_id="arroyo_other", new=1, poke_interval=2, timeout=600
    )
    stop = StopStreamingJobOperator(task_id="stop", pipeline="moving_clicks", arroyo_conn_id="arroyo_other")

    deploy >> move >> goes_on >> stop


if __name__ == "__main__":
    dag.test()
