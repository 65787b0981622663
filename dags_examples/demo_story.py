"""The demonstration itself: starts Airflow's half, tells what happens, checks the answers, leaves nothing running."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TextIO

from airflow_provider_arroyo import embedded, requests
from airflow_provider_arroyo.control_plane import ControlPlaneConnection
from airflow_provider_arroyo.endpoint import Endpoint
from airflow_provider_arroyo.errors import ArroyoError, UnreachableError
from airflow_provider_arroyo.responses import Checkpoint, Pipeline
from dags_examples.demo_check import check_reports
from dags_examples.demo_folder import Folder
from dags_examples.demo_kept import end_kept, keep_airflow

LIMIT = timedelta(minutes=8)


@dataclass
class Account:
    """Progress output, with the seconds since the beginning. On a terminal the last line is updated."""

    out: TextIO
    began: float = field(default_factory=time.monotonic)
    live: str = ""
    last_told: float = 0.0

    def tell(self, text: str, mark: str = " ") -> None:
        """Print a line that stays."""
        self._clear()
        self.out.write(f"{self._time()} {mark} {text}\n")
        self._draw()

    def show(self, text: str) -> None:
        """Print the current status; where lines cannot be written over, every five seconds."""
        if self.out.isatty():
            self._clear()
            self.live = text
            self._draw()
        elif text and time.monotonic() - self.last_told >= 5:
            self.last_told = time.monotonic()
            self.out.write(f"{self._time()}     {text}\n")
            self.out.flush()

    def _time(self) -> str:
        return f"{time.monotonic() - self.began:6.1f}s"

    def _clear(self) -> None:
        if self.live:
            self.out.write("\r\x1b[K")

    def _draw(self) -> None:
        if self.live:
            width = shutil.get_terminal_size().columns - 1
            self.out.write(f"{self._time()}     {self.live}"[:width])
        self.out.flush()


class ControlPlane:
    """The embedded control plane, looked at from outside; it may not be there yet, or be gone for a moment."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir

    def progress(self) -> str:
        """Return the pipeline's status in one line; empty when it is unknown."""
        try:
            with self._connect() as connection:
                for pipeline in connection.send(requests.list_pipelines()):
                    newest = connection.send(requests.list_checkpoints(pipeline.id, pipeline.job_id or ""))
                    return _line_of(pipeline, newest)
        except ArroyoError:
            pass
        return ""

    def stop(self, patience: timedelta = timedelta(seconds=20)) -> None:
        """Stop what runs, then the control plane itself."""
        with suppress(ArroyoError), self._connect() as connection:
            mode: requests.StopMode = "immediate"
            end = time.monotonic() + patience.total_seconds()
            while running := [pipe for pipe in connection.send(requests.list_pipelines()) if not pipe.is_at_rest]:
                for pipeline in running:
                    connection.send(requests.stop_pipeline(pipeline.id, mode))
                if mode == "force" and time.monotonic() > end + 5:
                    break
                mode = "force" if time.monotonic() > end else "immediate"
                time.sleep(0.3)
        server = embedded.read_server(self._data_dir)
        if server is not None and embedded.answers(server):
            _end(server.pid)

    def _connect(self) -> ControlPlaneConnection:
        return ControlPlaneConnection(self._find)

    def _find(self) -> Endpoint:
        endpoint = embedded.adopt(self._data_dir)
        if endpoint is None:
            raise UnreachableError("there is none")
        return endpoint


def end(folder: Folder) -> None:
    """End what an earlier demonstration has left running."""
    end_kept(folder)
    ControlPlane(folder.control_plane).stop()


def demonstrate(folder: Folder, *, keeps: bool = False) -> int:
    """Run the demonstration; 0 when the DAG has ended well and every answer is right. With `keeps`, an Airflow and the
    control plane are left running then."""
    account = Account(sys.stdout)
    plane = ControlPlane(folder.control_plane)
    end(folder)
    shutil.rmtree(folder.root, ignore_errors=True)
    folder.data.mkdir(parents=True)
    account.tell(f"Everything is in {folder.root}; Airflow's log is airflow.log")
    interrupted = _listen()
    try:
        return _play(folder, account, plane, interrupted, keeps=keeps)
    except KeyboardInterrupt:
        account.show("")
        account.tell("Interrupted; ending what was started")
        end_kept(folder)
        plane.stop(timedelta(seconds=3))
        return 130


def _play(folder: Folder, account: Account, plane: ControlPlane, interrupted: threading.Event, *, keeps: bool) -> int:
    ended_well = _run(folder, account, plane, interrupted)
    account.show("")
    if not keeps:
        plane.stop()
    status = _summarize(folder, account, ended_well)
    return _keep(folder, account, plane) or status if keeps else status


def _keep(folder: Folder, account: Account, plane: ControlPlane) -> int:
    """Leave both running, and say where they are."""
    account.show("Airflow starts, to be left running")
    airflow = keep_airflow(folder)
    account.show("")
    if airflow is None:
        account.tell(f"Airflow has not come up; see {folder.log}", "✘")
        plane.stop()
        return 1
    server = embedded.read_server(folder.control_plane)
    account.tell(f"Airflow        {airflow.url}, user {airflow.user}, password {airflow.password}", "✔")
    if server is not None:
        account.tell(f"Control plane  {server.url}, its page by: arroyo ui --data-dir {folder.control_plane}", "✔")
    account.tell("Both run until `make demo END=1`, or the next `make demo`")
    return 0


def _listen() -> threading.Event:
    """Return the event that a request to end sets. The interrupt is raised as well, but the code running then may
    swallow it, and a shell that starts us in the background has it ignored."""
    interrupted = threading.Event()

    def interrupt(_number: int, _frame: object) -> None:
        interrupted.set()
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    return interrupted


def _run(folder: Folder, account: Account, plane: ControlPlane, interrupted: threading.Event) -> bool:
    with folder.log.open("wb") as log:
        run = subprocess.Popen(
            [sys.executable, "-m", "dags_examples.demo_run"],
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=folder.root,
            start_new_session=True,
        )
    try:
        events = _follow(folder.journal)
        known_tasks: set[str] = set()
        end = time.monotonic() + LIMIT.total_seconds()
        while run.poll() is None:
            if interrupted.is_set():
                raise KeyboardInterrupt
            _tell_events(events, account, known_tasks)
            account.show(plane.progress())
            if time.monotonic() > end:
                account.tell(f"It has not ended within {LIMIT.total_seconds():.0f} s", "✘")
                return False
            time.sleep(1)
        _tell_events(events, account, known_tasks)
        return run.returncode == 0
    finally:
        if run.poll() is None:
            _end_group(run)


def _tell_events(events: Iterator[dict[str, str] | None], account: Account, known_tasks: set[str]) -> None:
    """Tell what has happened since; `known_tasks` are the tasks that were told of, for a deferred one begins twice."""
    while event := next(events):
        match event["event"]:
            case "running" if event["task"] in known_tasks:
                pass
            case "running":
                known_tasks.add(event["task"])
                account.tell(f"{event['task']:<24}{event['text']}", "▶")
            case "success":
                account.tell(f"{event['task']:<24}{event['text']}", "✔")
            case "retry":
                account.tell(f"{event['task']:<24}is tried again: {event['text']}", "↻")
            case "failed":
                account.tell(f"{event['task']:<24}{event['text']}", "✘")
            case "airflow" | "dag":
                account.tell(event["text"])


def _follow(path: Path) -> Iterator[dict[str, str] | None]:
    """Yield the lines of a file as they come; None when there is none now."""
    while not path.exists():
        yield None
    with path.open() as file:
        while True:
            line = file.readline()
            yield json.loads(line) if line.endswith("\n") else None


def _line_of(pipeline: Pipeline, newest: tuple[Checkpoint, ...]) -> str:
    about = f"{pipeline.name} {pipeline.state}, parallelism {pipeline.parallelism}"
    if not newest:
        return about
    last = max(newest, key=lambda checkpoint: checkpoint.epoch)
    late = sum(checkpoint.late_rows for checkpoint in newest)
    watermark = f"{last.watermark:%Y-%m-%d %H:%M:%S}" if last.watermark else "not known"
    # the first epoch has no rate: there is no commit before it to measure from
    rate = "" if last.rows_per_second is None else f", {last.rows_per_second:,.0f} rows/s"
    return f"{about}, epoch {last.epoch}{rate}, watermark {watermark}, {late} late"


def _summarize(folder: Folder, account: Account, ended_well: bool) -> int:
    findings = list(check_reports(folder.of_the_run())) if ended_well else []
    account.tell("The DAG has ended well" if ended_well else f"The DAG has failed; see {folder.log}", _mark(ended_well))
    for finding in findings:
        account.tell(finding.text, _mark(finding.holds))
        if finding.table:
            account.out.write("\n" + "\n".join(f"            {row}" for row in finding.table) + "\n\n")
    good = ended_well and all(finding.holds for finding in findings)
    account.tell("All answers are right" if good else "Something is wrong", _mark(good))
    return 0 if good else 1


def _mark(good: bool) -> str:
    return "✔" if good else "✘"


def _end_group(run: subprocess.Popen[bytes]) -> None:
    """End Airflow and what it has started, except for the control plane, which is a group of its own."""
    for number in (signal.SIGINT, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(run.pid, number)
        with suppress(subprocess.TimeoutExpired):
            run.wait(3)
            return


def _end(pid: int) -> None:
    """Ask a process to end, and make it."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
        end = time.monotonic() + 10
        while time.monotonic() < end:
            os.kill(pid, 0)
            time.sleep(0.1)
        os.kill(pid, signal.SIGKILL)
