"""A control plane as its users meet it: a process, an address, a token. Its drivers count instead of computing."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from engine.cli.base import Client, RefusedError
from engine.errors import UnreachableError
from engine.jobs.processes import processes

collect_ignore = [] if os.environ.get("AIRFLOW_PYTHON") else ["test_oldest_airflow.py"]
"""An Airflow of another version has an environment of its own, which `make test-airflow` sets up."""
T = TypeVar("T")
ROOT = Path(__file__).parents[2]
FAKE_DRIVER = shlex.join([sys.executable, str(Path(__file__).parent / "fake_driver.py")])
HASTE = {
    "HEARTBEAT_INTERVAL": "200ms",
    "HEARTBEAT_LIMIT": "5s",
    "INITIAL_BACKOFF": "50ms",
    "STOP_GRACE": "20s",
    "SPARE_DRIVERS": "0",
}
QUERY = """{says}
CREATE TABLE impulse WITH (connector = 'impulse', event_rate = '10');
CREATE TABLE out (counter BIGINT UNSIGNED) WITH (connector = 'blackhole', type = 'sink');
INSERT INTO out SELECT counter FROM impulse;
"""


def until(look: Callable[[], T], holds: Callable[[T], bool], within: float = 120.0) -> T:
    """Look until it holds; what was seen then. What takes long is looked at more rarely: a look at a job costs this
    process and its control plane 10 ms."""
    begun, pause = time.monotonic(), threading.Event()
    while not holds(value := look()):
        waited = time.monotonic() - begun
        assert waited < within, f"it still is {value!r}"
        pause.wait(min(0.1, 0.03 + waited / 100))
    return value


@dataclass
class Served:
    """A control plane on a data directory of its own; may be ended and started again."""

    data_dir: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    driver: str | None = FAKE_DRIVER
    root: Path = ROOT
    """Where the engine is that it is made of."""
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> Served:
        assert self.process is None
        with (self.data_dir / "server.log").open("ab") as log:
            command, environment = self.command(), self.environment()
            self.process = subprocess.Popen(command, cwd=self.root, env=environment, stdout=log, stderr=log)
        until(self._is_up, bool, 300)
        return self

    def command(self, *more: str) -> list[str]:
        return [sys.executable, "-m", "engine", "serve", "--port", "0", "--data-dir", str(self.data_dir), *more]

    def environment(self) -> dict[str, str]:
        chosen = {f"ARROYO__PIPELINE__{name}": text for name, text in {**HASTE, **self.settings}.items()}
        if self.driver is not None:
            chosen["ARROYO__PIPELINE__DRIVER_COMMAND"] = self.driver
        path = f"{self.root}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        return {**os.environ, **chosen, "PYTHONPATH": path}

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(how)
        code = self.process.wait(120)
        self.process = None
        return code

    @property
    def client(self) -> Client:
        noted = json.loads((self.data_dir / "server.json").read_text())
        return Client(noted["url"], (self.data_dir / "token").read_text().strip())

    def deploy(self, name: str = "orders", says: str = "", **body: Any) -> dict[str, Any]:
        answer = self.client.send("PUT", f"/pipelines/by-name/{name}", {"query": QUERY.format(says=says), **body})
        assert isinstance(answer, dict)
        return dict(answer)

    def patch(self, name: str = "orders", **body: Any) -> None:
        self.client.send("PATCH", f"/pipelines/{name}", body)

    def job(self, name: str = "orders") -> dict[str, Any]:
        answer: Any = self.client.get(f"/pipelines/{name}/jobs")
        job: dict[str, Any] = answer["data"][0]
        return job

    def until(self, name: str = "orders", within: float = 120.0, **facts: Any) -> dict[str, Any]:
        """Look at a job until all these facts are true of it."""
        return until(lambda: self.job(name), lambda job: all(job[key] == value for key, value in facts.items()), within)

    def until_epoch(self, epoch: int, name: str = "orders", within: float = 120.0) -> dict[str, Any]:
        return until(lambda: self.job(name), lambda job: (job["epoch"] or 0) >= epoch, within)

    def holder(self, name: str = "orders") -> dict[str, Any]:
        """The process that holds the pipeline's lock, as it has written itself down."""
        pipeline: Any = self.client.get(f"/pipelines/{name}")
        content: dict[str, Any] = json.loads(self.lock(pipeline["id"]).read_text())
        return content

    def lock(self, pipeline_id: str) -> Path:
        return self.data_dir / "runs" / pipeline_id / "lock"

    def count(self, pipeline: Mapping[str, Any]) -> dict[str, int]:
        """What the drivers of a pipeline have counted."""
        counts: dict[str, int] = json.loads((Path(pipeline["state_dir"]) / "count.json").read_text())
        return counts

    def close(self) -> None:
        """End the control plane, then whatever it has started."""
        if self.process is not None:
            self.end(signal.SIGKILL)
        for lock in (self.data_dir / "runs").glob("*/lock"):
            if processes.is_locked(lock):
                processes.kill_group(json.loads(lock.read_text())["pid"])
        for host in (self.data_dir / "hosts").glob("*"):
            processes.kill(processes.marked(f"host/{host.name}"))
        for assignment in (self.data_dir / "runs").glob("*/*[0-9].json"):
            content = json.loads(assignment.read_text())
            processes.kill(processes.marked(f"{content['job_id']}/{content['generation']}"))

    def _is_up(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.data_dir / "server.log").read_text()
        try:
            noted = json.loads((self.data_dir / "server.json").read_text())
            answer = self.client.get("/ping")
        except (OSError, ValueError, RefusedError, UnreachableError):
            return False
        return isinstance(answer, dict) and answer["instance"] == noted["instance"] and noted["pid"] == self.process.pid


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[Served]:
    """A control plane of this test's own, not started yet."""
    served = Served(tmp_path)
    yield served
    served.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A control plane that several tests use side by side."""
    served = Served(tmp_path_factory.mktemp("shared")).start()
    yield served
    served.close()
