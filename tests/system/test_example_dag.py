"""The example DAG on a real engine, from outside: as it should go, with murders on the way, and interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from airflow_provider_arroyo.embedded import read_server
from tests.dag_runs import REPOSITORY, processes_of

pytestmark = pytest.mark.timeout(600)

DEPLOY = """
import sys
from airflow_provider_arroyo.requests import PipelineSpec, list_pipelines
from airflow_provider_arroyo.deployments import DesiredPipeline, deploy
from airflow_provider_arroyo.hooks.arroyo import ArroyoHook
from airflow_provider_arroyo.operators.base import now

sql = "CREATE TABLE n WITH (connector = 'impulse', event_rate = 1); SELECT counter FROM n"
desired = DesiredPipeline("numbers", PipelineSpec(sql), "digest", sys.argv[1])
pipeline = ArroyoHook().run(deploy(desired, None, now)).pipeline
print(len(ArroyoHook().send(list_pipelines())), "pipeline:", pipeline.id)
"""


def test_a_control_plane_and_a_driver_that_are_killed_change_no_answer(tmp_path: Path) -> None:
    with demonstration(tmp_path) as lines:
        output_lines = follow(lines, {"▶ first_hour_is_complete": lambda: murder(tmp_path)})

    assert "✔ All answers are right" in output_lines[-1], "".join(output_lines)
    assert not processes_of(tmp_path)


def test_an_interrupted_demonstration_leaves_nothing_running(tmp_path: Path) -> None:
    with demonstration(tmp_path) as lines:
        output_lines = follow(lines, {"✔ deploy": lambda: lines.process.send_signal(signal.SIGINT)})
        status = lines.process.wait(600)

    assert status == 130, "".join(output_lines)
    assert not processes_of(tmp_path)


def test_two_runs_that_deploy_at_once_share_one_control_plane_and_one_pipeline(tmp_path: Path) -> None:
    connection = {"conn_type": "arroyo", "extra": {"embedded": True, "data_dir": str(tmp_path / "arroyo")}}
    environment = {"AIRFLOW_HOME": str(tmp_path), "AIRFLOW_CONN_ARROYO_DEFAULT": json.dumps(connection)}
    try:
        runs = [
            subprocess.Popen(
                [sys.executable, "-c", DEPLOY, key],
                stdout=subprocess.PIPE,
                text=True,
                cwd=REPOSITORY,
                env=os.environ | environment,
            )
            for key in ("one run", "another run")
        ]
        answers = [run.communicate(timeout=600)[0].splitlines()[-1] for run in runs]
    finally:
        for pid in processes_of(tmp_path):
            kill(pid)

    assert answers[0] == answers[1]
    assert answers[0].startswith("1 pipeline: pl_")


class Lines:
    """What a process prints, line by line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def __iter__(self) -> Iterator[str]:
        assert self.process.stdout is not None
        return iter(self.process.stdout)


@contextmanager
def demonstration(folder: Path) -> Iterator[Lines]:
    """A demonstration in a process of its own; nothing of it is left when the test ends, however it ends."""
    command = [sys.executable, "-m", "dags_examples.demo", str(folder)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY, env=environment)
    try:
        with process:
            yield Lines(process)
    finally:
        for pid in [process.pid, *processes_of(folder)] if process.poll() is None else processes_of(folder):
            kill(pid)


def follow(lines: Lines, happenings: dict[str, Callable[[], None]]) -> list[str]:
    """Everything that is printed; what is to happen at a line happens once."""
    output_lines = []
    for line in lines:
        output_lines.append(line)
        for text in [text for text in happenings if text in line]:
            happenings.pop(text)()
    assert not happenings, "".join(output_lines)
    return output_lines


def murder(folder: Path) -> None:
    """End the control plane and the drivers without a chance to tidy up."""
    server = read_server(folder / "arroyo")
    assert server is not None
    drivers = [pid for pid in processes_of(folder / "arroyo" / "runs") if pid != server.pid]
    assert drivers
    for pid in (server.pid, *drivers):
        kill(pid)


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
