"""Name of the requesting task in the control plane's events: `DAG/TASK/RUN`."""

from __future__ import annotations

import string
from typing import Any
from urllib.parse import quote

HEADER = "X-Requested-By"
LONGEST = 300
_AS_IT_IS = "".join(sorted({*string.punctuation, " "} - {"%"}))


def name_of(task: Any) -> str:
    """Return `DAG/TASK/RUN` of a task instance, at most 300 characters of printable ASCII; others are
    percent-encoded."""
    name = quote(f"{task.dag_id}/{task.task_id}/{task.run_id}", safe=_AS_IT_IS)
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 3]}..."


def running_task() -> str | None:
    """Return the name of the task that this code runs in; None outside of tasks."""
    from airflow.sdk import get_current_context  # noqa: PLC0415 - files with DAGs are read without it

    try:
        return name_of(get_current_context()["ti"])
    except (RuntimeError, KeyError, AttributeError):
        return None
