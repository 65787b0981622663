"""A pipeline on a control plane that may die, and what must hold when nobody works for it any more."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.checkpoints.savepoints import verify
from engine.checkpoints.swap import SCRATCH as SKELETON
from engine.delivery.faults import ALLOWED, ARMED
from engine.errors import UnreachableError
from tests.chaos.check import judge
from tests.chaos.targets import OneFile
from tests.system.conftest import Served, until

QUERY = """
CREATE TABLE impulse WITH (connector = 'impulse', event_rate = '10');
CREATE TABLE out (counter BIGINT UNSIGNED)
WITH (connector = 'single_file', path = '{out}', format = 'json', type = 'sink');
INSERT INTO out SELECT counter FROM impulse;
"""
SCRATCH = {"staging", "incoming"}
PATIENCE = 240.0


@dataclass
class ArmedPlane(Served):
    """A control plane that, like its drivers, dies at the point which stands in a file."""

    revivals: int = 0

    @property
    def fault(self) -> Path:
        """The file."""
        return self.data_dir / "fault"

    def environment(self) -> dict[str, str]:
        return {**super().environment(), ARMED: f"@{self.fault}", ALLOWED: "1", "ARROYO_NET_ALLOW": "127.0.0.1"}

    def is_dead(self) -> bool:
        """Whether it was killed."""
        return self.process is not None and self.process.poll() is not None

    def revive(self) -> None:
        """Start it again if it was killed."""
        if self.is_dead():
            self.process = None
            self.revivals += 1
            self.start()


@dataclass
class Story:
    """One pipeline on a control plane that may die."""

    plane: ArmedPlane
    folder: Path
    name: str = field(default_factory=lambda: f"p-{uuid.uuid4().hex[:8]}")
    id: str = ""

    @property
    def out(self) -> Path:
        """What it writes."""
        return self.folder / f"{self.name}.json"

    @property
    def state(self) -> Path:
        """Its state directory."""
        return self.plane.data_dir / "state" / self.id

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None, key: str | None = None) -> Any:
        """Send a request until it is answered, always with the same key."""
        key = key or uuid.uuid4().hex

        def answer() -> tuple[bool, Any]:
            self.plane.revive()
            try:
                return True, self.plane.client.send(method, path, body, key=key)
            except UnreachableError:
                return False, None

        return until(answer, lambda reply: reply[0], PATIENCE)[1]

    def deploy(self, key: str | None = None, **body: Any) -> Any:
        """Deploy it."""
        content = {"query": QUERY.format(out=self.out), **body}
        shown = self.ask("PUT", f"/pipelines/by-name/{self.name}", content, key)
        self.id = shown["id"]
        return shown

    def job(self) -> dict[str, Any]:
        """Its job, from a control plane that lives."""

        def look() -> dict[str, Any] | None:
            self.plane.revive()
            try:
                return self.plane.job(self.name)
            except UnreachableError:
                return None

        job = until(look, lambda job: job is not None, PATIENCE)
        assert job is not None
        return job

    def until(self, **facts: Any) -> dict[str, Any]:
        """Its job, once all this is true of it."""
        return until(self.job, lambda job: all(job[key] == value for key, value in facts.items()), PATIENCE)

    def until_epoch(self, epoch: int) -> dict[str, Any]:
        """Its job, once it has committed that epoch."""
        return until(self.job, lambda job: (job["epoch"] or 0) >= epoch, PATIENCE)

    def savepoint(self, key: str | None = None, **body: Any) -> str:
        """Ask for a savepoint; its id."""
        return str(self.ask("POST", f"/pipelines/{self.name}/savepoints", body, key)["id"])

    def saved(self, savepoint: str) -> dict[str, Any]:
        """A savepoint, once it is settled."""

        def look() -> Any:
            self.plane.revive()
            try:
                return self.plane.client.get(f"/pipelines/{self.name}/savepoints/{savepoint}")
            except UnreachableError:
                return {"state": "pending"}

        shown: dict[str, Any] = until(look, lambda shown: shown["state"] != "pending", PATIENCE)
        return shown

    def drivers(self) -> list[int]:
        """The processes that work for it."""
        place = f"{self.plane.data_dir}/runs/{self.id}/".encode()
        return [pid for pid, command in _commands() if place in command]


@dataclass(frozen=True, slots=True)
class Kill:
    """What is asked for, and the point at which what dies."""

    verb: str
    fault: str
    is_server: bool = True

    def __str__(self) -> str:
        return f"{self.verb}-{self.fault}"


def has_ended(story: Story, end: int | None) -> None:
    """Nobody works for it, nothing lies about, there was one writer at a time, and the rows are those up to `end`."""
    until(story.drivers, lambda pids: not pids, 60)
    writers = story.out.with_name(f"{story.name}.writers").read_text().splitlines()
    generations = [int(line.split()[0]) for line in writers]
    assert generations == sorted(generations), "a run went on beside its successor"
    parts = list(OneFile(story.out).new())
    verdict = judge(parts, sum(len(part.numbers) for part in parts) if end is None else end)
    assert verdict.is_clean, str(verdict)
    assert leftovers(story) == [], "something lies about"


def leftovers(story: Story) -> list[str]:
    """What should not lie about when nobody is at work any more."""
    if not story.state.exists():
        return []
    scratch = [path for path in story.state.rglob("*") if path.name in SCRATCH or path.name.startswith((".", SKELETON))]
    # A kill at any moment, as that of a stop by force, may leave a draft of the logs that the stand-in keeps for Spark.
    scratch = [path for path in scratch if path.parent.parent != story.state / "checkpoint"]
    scratch += [path for path in (story.state / "sinks").rglob("segments/*") if path.is_file()]
    scratch += list((story.plane.data_dir / "runs" / story.id).glob("*.new"))
    answer: Any = story.plane.client.get(f"/pipelines/{story.name}/savepoints")
    completed = {shown["id"] for shown in answer["data"] if shown["state"] == "completed"}
    assert len(completed) == len(answer["data"]), "a savepoint is not complete"
    folder = story.state / "savepoints"
    for savepoint in folder.iterdir() if folder.is_dir() else ():
        verify(savepoint)
        scratch += [] if savepoint.name in completed else [savepoint]
    return sorted(str(path.relative_to(story.plane.data_dir)) for path in set(scratch))


def _commands() -> list[tuple[int, bytes]]:
    """Every process of this machine, with its command line."""
    commands = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                commands.append((int(entry.name), (entry / "cmdline").read_bytes()))
            except OSError:
                continue
    return commands
