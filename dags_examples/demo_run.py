"""The half of the demonstration that is Airflow: one run of the example DAG with `dag.test()`.

What happens to tasks is written as lines of JSON to the file that the environment names; Airflow's own log goes to
standard output.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Context
from airflow.utils.db import upgradedb

from dags_examples.demo_folder import JOURNAL

_MOST_CHARACTERS = 60
_NOT_TOLD = ("consumer", "delivery", "lineage", "pipeline")


class Journal:
    """Writes down when a task begins and how it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, event: str, task: str = "", text: str = "") -> None:
        """Add a line."""
        with self._path.open("a") as file:
            file.write(json.dumps({"event": event, "task": task, "text": text}) + "\n")

    def follow(self, dag: DAG) -> None:
        """Hear of everything that happens to the tasks of a DAG. A deferred task runs twice."""
        for task in dag.tasks:
            task.on_execute_callback = [self._hear("running", lambda context: _purpose(context["task"]))]
            task.on_success_callback = [self._hear("success", lambda context: _outcome(context["ti"]))]
            task.on_retry_callback = [self._hear("retry", lambda context: str(context.get("exception")))]
            task.on_failure_callback = [self._hear("failed", lambda context: str(context.get("exception")))]

    def _hear(self, event: str, text: Callable[[Any], str]) -> Callable[[Context], None]:
        return lambda context: self.write(event, context["ti"].task_id, text(context))


def _purpose(task: Any) -> str:
    """Return the task's documentation, as its author wrote it."""
    return " ".join((task.doc_md or task.doc or getattr(task, "python_callable", task).__doc__ or "").split())


def _outcome(ti: Any) -> str:
    """Return the short values that the task returned: numbers, names and instants, without ids and addresses."""
    returned = ti.xcom_pull(task_ids=ti.task_id)
    if not isinstance(returned, dict):
        return ""
    return ", ".join(f"{name} {value}" for name, value in returned.items() if _is_told(name, value))


def _is_told(name: str, value: object) -> bool:
    is_short = isinstance(value, str | int | float) and len(str(value)) < _MOST_CHARACTERS and "/" not in str(value)
    return is_short and name not in _NOT_TOLD and not name.endswith("id")


def main() -> int:
    """Run the DAG once; 0 when it ends well."""
    journal = Journal(Path(os.environ[JOURNAL]))
    journal.write("airflow", text="Airflow sets up its database")
    upgradedb()
    from dags_examples.the_whole_story import dag

    journal.follow(dag)
    journal.write("dag", text=f"DAG {dag.dag_id} begins")
    run = dag.test()
    return 0 if str(run.state) == "success" else 1


if __name__ == "__main__":
    sys.exit(main())
