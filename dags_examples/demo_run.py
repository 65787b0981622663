"""The half of the demonstration that is Airflow: one run of the example DAG with `dag.test()`.

What happens to tasks is written as lines of JSON to the file that the environment names; Airflow's own log goes to
standard output.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from airflow.listeners import hookimpl
from airflow.listeners.listener import get_listener_manager
from airflow.utils.db import upgradedb

JOURNAL = "ARROYO_DEMO_JOURNAL"


class Journal:
    """Writes down when a task begins and how it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, event: str, task: str, text: str = "") -> None:
        """Add a line."""
        with self._path.open("a") as file:
            file.write(json.dumps({"at": time.time(), "event": event, "task": task, "text": text}) + "\n")

    @hookimpl
    def on_task_instance_running(self, task_instance: Any) -> None:
        """A task begins, or goes on after a wait in the triggerer."""
        task = getattr(task_instance, "task", None)
        self.write("running", task_instance.task_id, (task and (task.doc_md or task.doc)) or "")

    @hookimpl
    def on_task_instance_success(self, task_instance: Any) -> None:
        """A task has done its work."""
        self.write("success", task_instance.task_id)

    @hookimpl
    def on_task_instance_failed(self, task_instance: Any, error: object) -> None:
        """A try of a task has failed."""
        self.write("failed", task_instance.task_id, str(error))


def main() -> int:
    """Run the DAG once; 0 when it ends well."""
    journal = Journal(Path(os.environ[JOURNAL]))
    journal.write("airflow", "", "Airflow sets up its database")
    upgradedb()
    get_listener_manager().add_listener(journal)
    from dags_examples.hourly_batch_gate import dag  # noqa: PLC0415 - it is read when Airflow is ready for it

    journal.write("dag", "", dag.dag_id)
    run = dag.test()
    journal.write("done", "", str(run.state))
    return 0 if str(run.state) == "success" else 1


if __name__ == "__main__":
    sys.exit(main())
