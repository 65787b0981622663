"""Runs of example DAGs as a user would play them: `dag.test()` in a process and an Airflow of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class DagRun:
    """What came of a run: the states of its tasks, what they returned, and all that was printed."""

    states: Mapping[str, str]
    returned: Mapping[str, Any]
    output: str


def play(
    example: str, home: Path, environment: Mapping[str, str] | None = None, params: Mapping[str, str] | None = None
) -> DagRun:
    """Run an example once, with these in place of its own parameters, and with a control plane of its own. Nothing is
    left of it but files."""
    return play_all([example], home, environment, params)[example]


def play_all(
    examples: Sequence[str],
    home: Path,
    environment: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
    answers: Mapping[str, str] | None = None,
) -> dict[str, DagRun]:
    """Run some examples, one after the other with one control plane for all, which costs less than one for each. The
    answers are those of the person whom tasks ask, by the tasks' names."""
    arroyo = {"conn_type": "arroyo", "extra": {"embedded": True, "data_dir": str(home / "arroyo")}}
    variables = {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(REPOSITORY / "dags_examples"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW_CONN_ARROYO_DEFAULT": json.dumps(arroyo),
        "ARROYO_EXAMPLE_FOLDER": str(home / "data"),
        **(environment or {}),
    }
    outcomes = home / "outcomes.json"
    outcomes.unlink(missing_ok=True)
    wish = {
        "examples": list(examples),
        "params": params or {},
        "answers": answers or {},
        "outcomes": str(outcomes),
    }
    try:
        run = subprocess.run(
            [sys.executable, "-m", "tests.dag_run_process", json.dumps(wish)],
            capture_output=True,
            text=True,
            cwd=REPOSITORY,
            env={name: text for name, text in os.environ.items() if not name.startswith("AIRFLOW")} | variables,
            check=False,
            timeout=1200 * max(1, len(examples)),
        )
    finally:
        end_processes(home)
    assert run.returncode == 0, run.stdout[-5000:] + run.stderr[-5000:]
    output = run.stdout + run.stderr
    return {
        name: DagRun(outcome["states"], outcome["returned"], output)
        for name, outcome in json.loads(outcomes.read_text()).items()
    }


def end_processes(folder: Path) -> None:
    """End what was given something in the folder as an argument, and all that this starts while it ends."""
    while pids := processes_of(folder):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def processes_of(folder: Path) -> list[int]:
    """The processes of this machine that were given something in a folder as an argument."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if str(folder) in (entry / "cmdline").read_text(errors="replace") and int(entry.name) != os.getpid():
                found.append(int(entry.name))
    return found
