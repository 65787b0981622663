"""`python -m benchmarks.state pause`: how long nothing is committed while another version takes the place of a query.

A control plane runs a counter at a steady rate into an aggregate by key. It is asked to restart the job as it is, then
for a version that keeps the state, then for one that migrates it. Each pause is that from one commit to the next, the
longest after the request:

    epoch 41 committed at 12.0        request at 12.3        epoch 42 at 12.8        epoch 43, by the next run, at 19.4

is a pause of 6.6 seconds.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.served import served
from engine.cli.base import Client
from engine.values.instants import from_micros, now

T = TypeVar("T")
_TABLES = """
CREATE TABLE impulse WITH (connector = 'impulse', event_rate = '{rate}');
CREATE TABLE nowhere WITH (connector = 'blackhole');
INSERT INTO nowhere SELECT key, {shown} AS n, total FROM (
"""
_GROUPS = {
    "updating": "SELECT counter % {keys} AS key, count(*) AS n, {total} AS total FROM impulse GROUP BY 1",
    "tumble": "SELECT tumble(INTERVAL '1000 days') AS w, counter % {keys} AS key, count(*) AS n, {total} AS total "
    "FROM impulse GROUP BY 1, 2",
}
SHAPES: Mapping[str, str] = {shape: _TABLES + group + ");" for shape, group in _GROUPS.items()}
_NAME = "paused"
_PATIENCE = 1800.0
_EPOCHS = 5
"""Those that a run commits before it has to go."""


@dataclass(frozen=True, slots=True)
class Load:
    """Rows per second, keys in state, and how many spare drivers the control plane keeps."""

    rate: int
    keys: int
    spares: int


def pause(commits: Sequence[datetime], asked: datetime) -> float:
    """The longest time from a commit to the next that had not come when it was asked."""
    gaps = [after - before for before, after in pairwise(sorted(commits)) if after > asked]
    return max(gaps).total_seconds()


def play(shape: str, load: Load) -> Mapping[str, float]:
    """Start a control plane, and ask it for one thing after the other."""
    scratch = Path(tempfile.mkdtemp(prefix="state-"))
    try:
        with served(scratch, secrets.token_hex(8), load.spares) as client:
            return _Pipeline(client, scratch, shape, load).play()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@dataclass(slots=True)
class _Pipeline:
    """A pipeline on a control plane of its own."""

    client: Client
    data: Path
    shape: str
    load: Load
    run: int = 0

    def play(self) -> Mapping[str, float]:
        """The pauses, and by how much they are longer than that of a restart."""
        self._deploy("sum(counter)", shown="n")
        self._follow()
        restart = self._pause_of(lambda: self.client.send("POST", f"/pipelines/{_NAME}/restart", {}))
        kept = self._pause_of(lambda: self._deploy("sum(counter)", shown="n + 1"))
        migrated = self._pause_of(lambda: self._deploy("max(counter)", shown="n + 1"))
        return {
            "restart s": round(restart, 2),
            "state kept s": round(kept, 2),
            "state migrated s": round(migrated, 2),
            "state kept, of a restart": round(kept / restart, 2),
            "state migrated, of a restart": round(migrated / restart, 2),
        }

    def _deploy(self, total: str, shown: str) -> None:
        query = SHAPES[self.shape].format(rate=self.load.rate, keys=self.load.keys, total=total, shown=shown)
        self.client.send("PUT", f"/pipelines/by-name/{_NAME}", {"query": query})

    def _pause_of(self, ask: Callable[[], object]) -> float:
        if self.load.spares:
            _until(lambda: list((self.data / "spares").glob("*/ready")), bool)
        asked = now()
        ask()
        return pause(self._follow(), asked)

    def _follow(self) -> Sequence[datetime]:
        """Wait for the next run, until it has committed some epochs and all keys have come; when epochs were
        committed."""
        self.run += 1
        job: Any = _until(self._job, lambda job: job["run_id"] >= self.run and job["state"] == "Running")
        self.run, path = job["run_id"], f"/pipelines/{_NAME}/jobs/{job['id']}/checkpoints?limit=1000"
        first = self._job()["epoch"] or 0
        _until(self._job, lambda job: (job["epoch"] or 0) >= first + _EPOCHS)

        def look() -> Any:
            answer: Any = self.client.get(path)
            return answer["data"]

        epochs = _until(look, lambda epochs: sum(epoch["rows_in"] for epoch in epochs) >= self.load.keys)
        return [from_micros(epoch["finish_time"]) for epoch in epochs]

    def _job(self) -> Any:
        answer: Any = self.client.get(f"/pipelines/{_NAME}/jobs")
        return answer["data"][0]


def _until(look: Callable[[], T], holds: Callable[[T], bool]) -> T:
    """Look until it holds; what was seen then."""
    end = time.monotonic() + _PATIENCE
    while not holds(value := look()):
        if time.monotonic() > end:
            raise TimeoutError(f"it still is {value!r}")
        time.sleep(0.05)
    return value
