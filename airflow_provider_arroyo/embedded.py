"""Control plane on this machine: connect to the running one, or start one; never two.

The two packages do not import each other. They share a directory (`server.json`, `token`) and communicate over HTTP.
"""

from __future__ import annotations

import fcntl
import importlib.util
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import httpx

from airflow_provider_arroyo.endpoint import Endpoint
from airflow_provider_arroyo.errors import EmbeddedError

LOG = logging.getLogger(__name__)
START_TIME = timedelta(seconds=60)
_SAY_EVERY = 5.0
"""Seconds between two lines in the task's log while a control plane starts."""

# Held so that a child that is still there is not complained about when its handle goes; it outlives this process.
_started: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True, slots=True)
class Server:
    """A control plane, as recorded in its `server.json`."""

    url: str
    pid: int
    instance: str


def server_command(data_dir: Path) -> Sequence[str]:
    """Return the command that starts a control plane, which picks a free port and records it."""
    return (sys.executable, "-m", "engine", "serve", "--port", "0", "--data-dir", str(data_dir))


def adopt(data_dir: Path) -> Endpoint | None:
    """Return the control plane that serves this directory, if it lives."""
    server = read_server(data_dir)
    if server is None or not answers(server):
        return None
    try:
        token = (data_dir / "token").read_text().strip()
    except OSError:
        return None
    return Endpoint(server.url, token)


def start_or_adopt(
    data_dir: Path, *, command: Callable[[Path], Sequence[str]] = server_command, within: timedelta = START_TIME
) -> Endpoint:
    """Return the control plane that serves this directory; start one if there is none. Safe to call from many
    processes."""
    if endpoint := adopt(data_dir):
        return endpoint
    data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _locked(data_dir / "start.lock"):
        return adopt(data_dir) or _start(data_dir, command(data_dir), within)


def read_server(data_dir: Path) -> Server | None:
    """Read the record of the last control plane of this directory, which may have ended."""
    try:
        content = json.loads((data_dir / "server.json").read_text())
        return Server(str(content["url"]), int(content["pid"]), str(content["instance"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def answers(server: Server) -> bool:
    """Whether exactly this instance answers. One that accepts connections but is too busy to answer in time counts as
    living."""
    try:
        with httpx.Client(timeout=5, verify=False, trust_env=False) as client:  # noqa: S501 - loopback
            answer = client.get(f"{server.url.rstrip('/')}/api/v1/ping")
        return answer.is_success and answer.json().get("instance") == server.instance
    except httpx.ReadTimeout:
        return _is_alive(server.pid)
    except (httpx.TransportError, ValueError):
        return False


def _start(data_dir: Path, command: Sequence[str], within: timedelta) -> Endpoint:
    if command[1:3] == ("-m", "engine") and importlib.util.find_spec("engine") is None:
        raise EmbeddedError(
            "an embedded control plane needs the engine, which is not installed here",
            hint="pip install 'airflow-provider-arroyo[engine]', or name a running one as the connection's host",
        )
    log = data_dir / "server.log"
    LOG.info("No control plane runs in %s: starting one, with its log in %s", data_dir, log)
    with log.open("ab") as output:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=_environment(),
        )
    _started.append(child)
    began = said = time.monotonic()
    while (now := time.monotonic()) < began + within.total_seconds():
        if endpoint := adopt(data_dir):
            LOG.info("The control plane answers at %s, after %.1f s", endpoint.url, now - began)
            return endpoint
        if now - said >= _SAY_EVERY:
            said = now
            LOG.info("Waiting for the control plane, for %.0f s so far", now - began)
        if child.poll() is not None:
            raise EmbeddedError(f"it ended at once, with status {child.returncode}:\n{_tail(log)}", hint=f"See {log}")
        time.sleep(0.1)
    child.terminate()
    raise EmbeddedError(f"it did not answer within {within.total_seconds():.0f} s:\n{_tail(log)}", hint=f"See {log}")


def _environment() -> dict[str, str]:
    """Return this environment without Airflow's own settings: a user's SQL must not read connections in them."""
    return {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-15:])
