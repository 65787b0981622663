"""Change a query so that it loses what it knows, once a person has approved the plan; fork it before, go back after.

The task `upgrade` waits in Airflow's list of required actions, where the plan is shown. Approved, it deploys exactly
that plan; rejected, it fails at once, without a retry, and so does the run: the pipeline has its query and its state as
they were. As this is an example, `stop` then ends what `deploy` has started, as it does after every other end; leave it
out where the pipeline is to run on.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG

from airflow_provider_arroyo.operators.delete import DeletePipelineOperator
from airflow_provider_arroyo.operators.fork import ForkOperator
from airflow_provider_arroyo.operators.restore import RestoreOperator
from airflow_provider_arroyo.operators.rollback import RollbackOperator
from airflow_provider_arroyo.operators.savepoint import SavepointOperator
from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.sensors.checkpoint import CheckpointSensor

MINUTES = """
CREATE TABLE numbers WITH (connector = 'impulse', event_rate = 100);
CREATE TABLE minutes WITH (connector = 'blackhole');
INSERT INTO minutes SELECT count(*) AS n FROM numbers GROUP BY tumble(interval '1 minute');
"""
HOURS = MINUTES.replace("1 minute", "1 hour")

with DAG(
    dag_id="upgrade_with_approval",
    schedule=None,
    max_active_runs=1,
    catchup=False,
    default_args={"retries": 1, "retry_delay": timedelta(seconds=1)},
    params={"reset": ["tumble-971928ec"]},  # what may be lost once a person approves it, as `arroyo plan` names it
    render_template_as_native_obj=True,
    doc_md=__doc__,
    tags=["arroyo", "example"],
) as dag:
    deploy = StreamingSqlOperator(task_id="deploy", pipeline="counts", sql=MINUTES)
    some_state = CheckpointSensor(task_id="some_state", pipeline="counts", new=2, poke_interval=1, timeout=300)
    savepoint = SavepointOperator(task_id="savepoint", pipeline="counts", savepoint_label="to fork from")
    saved = "{{ ti.xcom_pull(task_ids='savepoint')['savepoint_id'] }}"
    beside = "counts-{{ dag_run.run_after | ts_nodash }}"  # a fork is a new pipeline: in each run another one
    fork = ForkOperator(task_id="fork", pipeline=beside, savepoint=saved, sql=MINUTES)
    upgrade = StreamingSqlOperator(
        task_id="upgrade",
        pipeline="counts",
        sql=HOURS,
        reset="{{ params.reset }}",
        on_loss="approve",
        approval_timeout=timedelta(hours=8),
    )
    roll_back = RollbackOperator(task_id="roll_back", pipeline="counts")
    restore = RestoreOperator(task_id="restore", pipeline="counts", savepoint=saved, allow_replay=True)
    stop = StopStreamingJobOperator(task_id="stop", pipeline="counts")
    delete_fork = DeletePipelineOperator(task_id="delete_fork", pipeline=beside, with_savepoints=True)

    deploy >> some_state >> savepoint >> fork >> upgrade >> roll_back >> restore >> stop.as_teardown(setups=deploy)
    fork >> delete_fork


if __name__ == "__main__":
    dag.test()
