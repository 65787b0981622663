"""Two hours of event time that close minute by minute, with two readers, a control plane and a driver that are killed,
paused, and taken back to a savepoint."""

from __future__ import annotations

import json
import os
import random
import shlex
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from engine.checkpoints.layout import StatePaths
from engine.checkpoints.lineage import read_lineage
from engine.checkpoints.spark_log import newest_commit
from engine.cli.base import RefusedError
from engine.errors import UnreachableError
from tests.partition_kills.driver import LAST_EPOCH, READERS
from tests.partition_kills.judge import Outcome, judge
from tests.partition_kills.readers import BUCKETS
from tests.ports import free_port
from tests.system.conftest import Served, until

QUERY = """
CREATE TABLE impulse WITH (connector = 'impulse', event_rate = '10', late_rows = 'too_late');
CREATE TABLE out (n BIGINT)
WITH (connector = 'single_file', path = '{folder}/out.json', format = 'json', type = 'sink');
CREATE TABLE too_late (counter BIGINT UNSIGNED)
WITH (connector = 'single_file', path = '{folder}/too_late.json', format = 'json', type = 'sink');
INSERT INTO out SELECT count(*) FROM impulse GROUP BY tumble(INTERVAL '1 minute');
"""
"""`out` comes first: `tests.kills.driver` takes the first file for that of its rows."""
DRIVER = shlex.join([sys.executable, "-m", "tests.partition_kills.driver"])
VICTIMS = (*READERS, "plane", "driver")
RESTORE_EVERY = 5
"""Each fifth time it goes back to a savepoint, too."""


@dataclass
class FixedPlane(Served):
    """A control plane that comes back where it was."""

    port: int = field(init=False)

    def __post_init__(self) -> None:
        self.port = free_port()

    def command(self, *more: str) -> list[str]:
        command = super().command(*more)
        command[command.index("--port") + 1] = str(self.port)
        return command


@dataclass
class Play:
    """What runs, and what has happened to it."""

    plane: FixedPlane
    chance: random.Random
    readers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    savepoints: list[str] = field(default_factory=list)
    happened: Counter[str] = field(default_factory=Counter)
    state: Path = Path()

    @property
    def folder(self) -> Path:
        """Where the rows are, and what was read."""
        return self.plane.data_dir / "rows"

    def begin(self) -> None:
        """Deploy, make the consumers, and have both read."""
        self.folder.mkdir()
        query = QUERY.format(folder=self.folder)
        answer: Any = self.plane.start().client.send("PUT", "/pipelines/by-name/seconds", {"query": query})
        self.state = Path(answer["state_dir"])
        for name in READERS:
            self.plane.client.send("PUT", f"/partitions/{name}", BUCKETS)
            self.start_reader(name)

    def start_reader(self, name: str) -> None:
        client = self.plane.client
        command = [sys.executable, "-m", "tests.partition_kills.readers", name, str(self.folder)]
        connection = {"conn_type": "arroyo", "host": client.url, "password": client.token}
        environment = self.plane.environment() | {
            "AIRFLOW_HOME": str(self.plane.data_dir / "airflow"),
            "AIRFLOW_CONN_ARROYO_DEFAULT": json.dumps(connection),
        }
        with (self.plane.data_dir / f"{name}.log").open("ab") as log:
            more = [client.url, client.token] if name == "pull" else []
            self.readers[name] = subprocess.Popen([*command, *more], env=environment, stdout=log, stderr=log)

    def committed(self) -> int:
        """The newest committed epoch."""
        return newest_commit(StatePaths(self.state).checkpoint) or 0

    def until_commits(self, count: int) -> None:
        """Return after some more commits, also of another history."""
        seen, left = self.committed(), count
        end = threading.Event()
        for _ in range(60_000):
            if left <= 0:
                return
            if (now := self.committed()) != seen:
                seen, left = now, left - 1
            end.wait(0.01)
        raise AssertionError(f"it still is at epoch {seen}: {self.happened}")

    def strike(self, victim: str) -> None:
        """Kill it, or pause it for a while; what is killed comes back."""
        how = self.chance.choice(("kill", "kill", "pause"))
        self.happened[f"{victim} {how}"] += 1
        if victim == "driver":
            with suppress(ProcessLookupError, OSError, ValueError, UnreachableError, RefusedError):
                pid = self.plane.holder("seconds")["pid"]
                os.kill(pid, signal.SIGKILL if how == "kill" else signal.SIGSTOP)
                if how == "pause":
                    # so long that it is given up now and then
                    threading.Event().wait(self.chance.choice((0.5, 1, 8)))
                    os.kill(pid, signal.SIGCONT)
            return
        process = self.plane.process if victim == "plane" else self.readers[victim]
        assert process is not None
        if how == "pause":
            process.send_signal(signal.SIGSTOP)
            threading.Event().wait(self.chance.choice((0.5, 1, 3)))
            process.send_signal(signal.SIGCONT)
            return
        process.kill()
        process.wait(60)
        if victim == "plane":
            self.plane.process = None
            self.plane.start()
        else:
            self.start_reader(victim)

    def save(self) -> None:
        """Take a savepoint to go back to."""
        with suppress(RefusedError):  # there is no run just now
            saved: Any = self.plane.client.send("POST", "/pipelines/seconds/savepoints", {})
            self.savepoints.append(saved["id"])

    def go_back(self) -> None:
        """Restore one of the newest savepoints; what follows does not wait until that is done."""
        listed: Any = self.plane.client.get("/pipelines/seconds/savepoints")
        complete = [each["id"] for each in listed["data"] if each["state"] == "completed"]
        # the newest was taken just now: nothing has come since that it could take back
        fitting = [each for each in self.savepoints[-4:-1] if each in complete]
        if fitting:
            body: dict[str, Any] = {"savepoint_id": self.chance.choice(fitting), "allow_replay": True}
            with suppress(RefusedError):  # it is still going back
                self.plane.client.send("POST", "/pipelines/seconds/restore", body)
                self.happened["restore"] += 1

    def end(self) -> Outcome:
        """Let all that is left be told, read and acknowledged."""
        until(self.committed, lambda epoch: epoch >= LAST_EPOCH, 600)
        self.plane.until("seconds", state="Running")  # none of what was struck is still to come back
        until(self.committed, lambda epoch: epoch >= LAST_EPOCH, 600)
        self.plane.patch("seconds", stop="checkpoint")
        self.plane.until("seconds", state="Stopped")
        for name in READERS:
            until(partial(self.is_done, name), bool, 600)
        return Outcome(read_lineage(StatePaths(self.state).lineage), self.committed())

    def is_done(self, name: str) -> bool:
        """Whether a reader has acknowledged all that there is to be told."""
        assert self.readers[name].poll() is None, (self.plane.data_dir / f"{name}.log").read_text()[-3000:]
        page: Any = self.plane.client.get(f"/partitions/{name}/next")
        consumer: Any = self.plane.client.get(f"/partitions/{name}")
        return not page["data"] and bool(consumer["acked"] == consumer["delivered"])

    def given(self, name: str) -> list[dict[str, Any]]:
        """All that a consumer was given, oldest first."""
        page: Any = self.plane.client.get(f"/partitions/{name}/deliveries", {"limit": 1000})
        assert not page["has_more"]
        return sorted(page["data"], key=lambda each: int(each["sequence"]))

    def read(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / f"{name}.jsonl").read_text().splitlines()]

    def close(self) -> None:
        for process in self.readers.values():
            process.kill()
            process.wait(60)
        if self.plane.process is not None:
            self.plane.process.send_signal(signal.SIGCONT)
        self.plane.close()


def play(data_dir: Path, kills: int, seed: int) -> Mapping[str, Mapping[str, int]]:
    """Play it once; what happened, and what each reader was told."""
    chance = random.Random(seed)
    found = Play(FixedPlane(data_dir, driver=DRIVER), chance)
    order = [VICTIMS[number % len(VICTIMS)] for number in range(kills)]
    chance.shuffle(order)
    try:
        found.begin()
        for number, victim in enumerate(order, 1):
            found.until_commits(chance.randrange(1, max(2 * LAST_EPOCH // kills, 3)))
            found.save()
            if number % RESTORE_EVERY == RESTORE_EVERY - 1:
                found.go_back()
            found.strike(victim)
        outcome = found.end()
        told = {name: judge(found.given(name), found.read(name), outcome) for name in READERS}
    finally:
        found.close()
    return {"happened": dict(found.happened), **told}
