"""A real Airflow for tests: scheduler with two workers, triggerer, DAG processor and API server, in a home of its own
and over SQLite, unless it is given another database. Nothing is left of it but files.

    with RealAirflow(home, connection) as airflow:
        airflow.dag("gate", SOURCE)
        run = airflow.run("gate")
        airflow.until("gate", run, "gate", "deferred")
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import httpx

from tests.ports import free_port

ROOT = Path(__file__).resolve().parents[1]
PROCESSES = {
    "api": ("api-server", "--workers", "1"),
    "scheduler": ("scheduler", "--skip-serve-logs"),
    "triggerer": ("triggerer", "--skip-serve-logs"),
    "dags": ("dag-processor",),
}
_NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Whose certificates are trusted. Over http nobody is asked for one, and to read those of the machine for each look
takes more processor time than the look."""


@dataclass
class RealAirflow:
    """Four processes, which may be ended and started again one by one."""

    home: Path
    connection: str
    """Where `arroyo_default` leads, as JSON."""
    users: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Who may log in, each with a role and a password; without any, whoever comes is an admin."""
    parts: tuple[str, ...] = tuple(PROCESSES)
    """The processes that are started."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Further settings, as Airflow's environment variables say them."""
    python: str = sys.executable
    """Where Airflow is installed."""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _port: int = 0
    _secrets: tuple[str, str] = field(default_factory=lambda: (secrets.token_hex(32), secrets.token_hex(32)))
    _token: str = ""
    _sessions: set[int] = field(default_factory=set)

    @property
    def environment(self) -> dict[str, str]:
        """What makes its processes one Airflow, apart from any other of this machine."""
        url = f"http://localhost:{self._port}"
        clean = {name: text for name, text in os.environ.items() if not name.startswith("AIRFLOW")}
        return clean | {
            "AIRFLOW_HOME": str(self.home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.home / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__PARALLELISM": "2",
            **self._logins(),
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "AIRFLOW__API__BASE_URL": url,
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(self._port),
            "AIRFLOW__API__SECRET_KEY": self._secrets[0],
            "AIRFLOW__API_AUTH__JWT_SECRET": self._secrets[1],
            "AIRFLOW__SCHEDULER__ENABLE_HEALTH_CHECK": "False",
            "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "2",
            "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "60",
            "AIRFLOW_CONN_ARROYO_DEFAULT": self.connection,
            "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
            **self.settings,
        }

    def _logins(self) -> dict[str, str]:
        """Who is let in."""
        manager = "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER"
        if not self.users:
            return {f"{manager}_ALL_ADMINS": "True"}
        users = ",".join(f"{name}:{role}" for name, (role, _) in self.users.items())
        passwords = str(self.home / "passwords.json")
        return {f"{manager}_ALL_ADMINS": "False", f"{manager}_USERS": users, f"{manager}_PASSWORDS_FILE": passwords}

    @property
    def url(self) -> str:
        """Where its pages are."""
        return f"http://localhost:{self._port}"

    def __enter__(self) -> Self:
        (self.home / "dags").mkdir(parents=True, exist_ok=True)
        if self.users:
            (self.home / "passwords.json").write_text(json.dumps({name: it[1] for name, it in self.users.items()}))
        self._port = free_port()
        try:
            self._spawn("migrate", "db", "migrate")
            assert self.processes.pop("migrate").wait(300) == 0, self.said("migrate")
            for name in self.parts:
                self.start(name)
            self.until_up()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def dag(self, dag_id: str, source: str) -> None:
        """Let there be a DAG, and wait until the scheduler knows it."""
        (self.home / "dags" / f"{dag_id}.py").write_text(source)
        until(lambda: self.ask("GET", f"dags/{dag_id}").status_code, lambda status: status == 200, 600)

    def run(self, dag_id: str, logical_date: datetime | None = None, **params: str) -> str:
        """Begin a run."""
        at = None if logical_date is None else logical_date.isoformat()
        answer = self.ask("POST", f"dags/{dag_id}/dagRuns", {"logical_date": at, "conf": params})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["dag_run_id"])

    def task(self, dag_id: str, run_id: str, task_id: str) -> dict[str, Any]:
        """What Airflow says of a task."""
        answer = self.ask("GET", f"dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}")
        assert answer.status_code == 200, answer.text
        said: dict[str, Any] = answer.json()
        return said

    def until(self, dag_id: str, run_id: str, task_id: str, state: str, within: float = 180) -> dict[str, Any]:
        """Look at a task until it is in a state; what was seen then."""
        return until(lambda: self.task(dag_id, run_id, task_id), lambda task: bool(task["state"] == state), within)

    def result(self, dag_id: str, run_id: str, task_id: str, key: str = "return_value") -> Any:
        """What a task has returned, or left under another key."""
        path = f"dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/xcomEntries/{key}?stringify=false"
        return self.ask("GET", path).json()["value"]

    def results(self, dag_id: str, run_id: str, task_id: str) -> set[str]:
        """The keys of all that a task has left."""
        path = f"dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/xcomEntries"
        return {entry["key"] for entry in self.ask("GET", path).json()["xcom_entries"]}

    def link(self, dag_id: str, run_id: str, task_id: str) -> str | None:
        """Where the button of a task leads; None while there is nothing to be opened."""
        path = f"dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/links"
        found: dict[str, str | None] = self.ask("GET", path).json()["extra_links"]
        return found["Arroyo pipeline"]

    def events(self, asset: str) -> list[dict[str, Any]]:
        """The events of an asset, oldest first."""
        like = self.ask("GET", f"assets?name_pattern={asset}").json()["assets"]
        ids = [each["id"] for each in like if each["name"] == asset]
        if not ids:
            return []
        path = f"assets/events?asset_id={ids[0]}&limit=100"
        found: list[dict[str, Any]] = self.ask("GET", path).json()["asset_events"]
        return sorted(found, key=lambda event: int(event["id"]))

    def ended(self, dag_id: str) -> list[dict[str, Any]]:
        """The runs of a DAG that have ended well."""
        found: list[dict[str, Any]] = self.ask("GET", f"dags/{dag_id}/dagRuns?state=success&limit=100").json()[
            "dag_runs"
        ]
        return found

    def waiting(self, dag_id: str) -> bool:
        """Whether a task of the DAG is deferred."""
        path = f"dags/{dag_id}/dagRuns/~/taskInstances?state=deferred"
        return bool(self.ask("GET", path).json()["task_instances"])

    def kill(self, name: str) -> None:
        """Kill one of its processes, and what it has started."""
        os.killpg(self.processes[name].pid, signal.SIGKILL)
        self.processes[name].wait(60)

    def start(self, name: str) -> None:
        """Start one of its processes."""
        self._spawn(name, *PROCESSES[name])

    def until_up(self) -> None:
        """Return when its API server answers."""
        until(self._log_in, bool, 300)

    def said(self, name: str) -> str:
        """The end of what one of its processes has printed."""
        return (self.home / f"{name}.out").read_text(errors="replace")[-5000:]

    def pids(self) -> set[int]:
        """Everything that was started here, and what that has started: by its session, since some write their
        name over their environment, or by the home that it was given."""
        mark, found = f"AIRFLOW_HOME={self.home}".encode(), set()
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                state, _, _, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
                is_ours = int(session) in self._sessions or mark in (entry / "environ").read_bytes().split(b"\0")
                if is_ours and state != "Z":
                    found.add(int(entry.name))
        return found - {os.getpid()}

    def close(self) -> None:
        """End everything that runs in its home."""
        while pids := self.pids():
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for process in self.processes.values():
            process.wait(60)

    def _spawn(self, name: str, *arguments: str) -> None:
        with (self.home / f"{name}.out").open("ab") as out:
            self.processes[name] = subprocess.Popen(
                [self.python, "-m", "airflow", *arguments],
                cwd=self.home,
                env=self.environment,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        self._sessions.add(self.processes[name].pid)

    def _log_in(self) -> bool:
        for name, process in self.processes.items():
            assert process.poll() is None, f"{name} has ended: {self.said(name)}"
        url = f"http://127.0.0.1:{self._port}/auth/token"
        first = next(({"username": name, "password": it[1]} for name, it in self.users.items()), None)
        try:
            if first is None:
                answer = httpx.get(url, trust_env=False, verify=_NOBODY, timeout=10)
            else:
                answer = httpx.post(url, json=first, trust_env=False, verify=_NOBODY, timeout=10)
        except httpx.TransportError:
            return False
        if answer.is_success:
            self._token = answer.json()["access_token"]
        return answer.is_success

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        """What it answers. A look that fails in the server, as over SQLite it does now and then, is repeated, and one
        that a busy machine does not come to."""
        url, headers = f"http://127.0.0.1:{self._port}/api/v2/{path}", {"Authorization": f"Bearer {self._token}"}

        def send() -> httpx.Response | None:
            try:
                return httpx.request(
                    method, url, json=body, headers=headers, trust_env=False, verify=_NOBODY, timeout=60
                )
            except httpx.TimeoutException:
                if method != "GET":
                    raise
                return None

        def is_answer(answer: httpx.Response | None) -> bool:
            return answer is not None and (method != "GET" or answer.status_code < 500)

        answered: httpx.Response = until(send, is_answer, 240)
        return answered


def until(look: Callable[[], Any], holds: Callable[[Any], bool], within: float) -> Any:
    """Look until it holds; what was seen then."""
    end, pause = time.monotonic() + within, threading.Event()
    while not holds(seen := look()):
        assert time.monotonic() < end, f"it still is {seen!r}"
        pause.wait(0.2)
    return seen
