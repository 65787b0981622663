"""A pipeline for the duration of some tasks: deployed by a setup task, stopped and deleted by a teardown task.

    with temporary_pipeline("orders", sql="orders.sql", wait_for="finished") as orders:
        check(orders.output)

    begin ── orders.deploy ── check ── orders.delete      delete also runs if check, or deploy itself, has failed

All sinks of the script write under a prefix of the run, so a script can be tested next to the pipeline that runs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import TaskGroup

from airflow_provider_arroyo.operators.delete import DeletePipelineOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator

_MARK = "macros.uuid.uuid5(macros.uuid.NAMESPACE_OID, dag_run.dag_id ~ ' ' ~ dag_run.run_id).hex[:8]"
OF_RUN = f"{{{{ dag_run.run_after.strftime('%Y%m%dT%H%M%S%f') }}}}-{{{{ {_MARK} }}}}"
"""Template of a text that is unique per DAG run, and the same for all tries of its tasks. The logical date is not
enough, because runs of several DAGs can have the same."""
_OF_CONNECTION = ("arroyo_conn_id", "deferrable", "poll_interval")


@contextmanager
def temporary_pipeline(
    name: str, *, sql: str, into: str | None = OF_RUN, **operator_args: Any
) -> Iterator[StreamingSqlOperator]:
    """Deploy a script before the tasks that are made within, and delete its pipeline after them, even if they fail.
    Gives the task that deploys; what reads its `output` comes behind it.

    :param name: what the pipeline's name begins with; the rest is of the run. The group of tasks is called so.
    :param sql: the script, or the name of a `.sql` file beside the DAG (templated).
    :param into: the prefix under which all its sinks write; None lets them write where they say.
    :param operator_args: all other arguments of `StreamingSqlOperator`.
    """
    pipeline = f"{name}-{OF_RUN}"
    of_connection = {key: operator_args[key] for key in _OF_CONNECTION if key in operator_args}
    with TaskGroup(name):
        # A teardown is left out when no setup has succeeded. A deployment may fail when the pipeline is there already.
        begin = EmptyOperator(task_id="begin")
        deploy = StreamingSqlOperator(task_id="deploy", pipeline=pipeline, sql=sql, into=into, **operator_args)
        delete = DeletePipelineOperator(task_id="delete", pipeline=pipeline, with_savepoints=True, **of_connection)
        begin >> deploy >> delete.as_teardown(setups=[begin, deploy])
    with delete:
        yield deploy
