"""Requests in whose middle something is killed, and what must hold afterwards.

prepare   a job that is as far as the request needs it
arm       the point at which the first process that comes to it dies
ask       the request; a control plane that dies is started again, and the request repeated with its key
judge     the state that was asked for, one driver or none, nothing left about, every row once
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.checkpoints.savepoints import verify
from engine.checkpoints.spark_log import newest_commit
from engine.commands.client import RefusedError
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


def play(plane: ArmedPlane, folder: Path, kill: Kill) -> None:
    """Ask for something, have a process killed in the middle of it, and judge."""
    story, verb = Story(plane, folder), VERBS[kill.verb]
    plane.revive()
    prepared = verb.prepare(story)
    plane.fault.write_text(kill.fault)
    key, revivals = uuid.uuid4().hex, plane.revivals
    verb.ask(story, prepared, key)

    def is_killed() -> bool:
        """Whether the file is gone, and the control plane has died, perhaps before it had answered."""
        return not plane.fault.exists() and (not kill.is_server or plane.is_dead() or plane.revivals > revivals)

    try:
        until(is_killed, bool, 60)
    except AssertionError:
        assert not plane.fault.exists(), f"nobody came to {kill.fault}"
    verb.ask(story, prepared, key)  # a client that had no answer, or has lost it, asks again
    verb.judge(story, prepared)


def comes_to_its_end(story: Story) -> None:
    """Its input ends; it writes the last rows, and each row is there once."""
    until(story.drivers, lambda pids: len(pids) == 1, 60)
    end = story.out.with_name(f"{story.name}.end")
    end.touch()
    story.until(state="Finished")
    has_ended(story, int(end.read_text()))


def rests_and_goes_on(story: Story) -> None:
    """It has stopped, nobody works for it; started again it comes to its end."""
    story.until(state="Stopped")
    until(story.drivers, lambda pids: not pids, 60)
    story.ask("PATCH", f"/pipelines/{story.name}", {"stop": "none"})
    story.until(state="Running")
    comes_to_its_end(story)


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
    scratch = [path for path in story.state.rglob("*") if path.name in SCRATCH or path.name.startswith(".")]
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


@dataclass(frozen=True, slots=True)
class Verb:
    """A request: what has to be there before it, the request itself, and what it comes to."""

    ask: Callable[[Story, Any, str], object]
    judge: Callable[[Story, Any], None]
    prepare: Callable[[Story], Any] = lambda story: _running(story)  # noqa: PLW0108 - it comes below


def _running(story: Story) -> str:
    story.deploy()
    story.until(state="Running")
    story.until_epoch(2)
    return ""


def _with_savepoint(story: Story) -> str:
    _running(story)
    savepoint = story.savepoint()
    epoch = story.saved(savepoint)["epoch"]
    story.until_epoch(epoch + 2)
    return savepoint


def _stopped_with_savepoint(story: Story) -> str:
    _running(story)
    savepoint = story.savepoint(stop="checkpoint")
    assert story.saved(savepoint)["state"] == "completed"
    story.until(state="Stopped")
    return savepoint


def _stopped(story: Story) -> str:
    _running(story)
    story.ask("PATCH", f"/pipelines/{story.name}", {"stop": "checkpoint"})
    story.until(state="Stopped")
    return ""


def _patch(**body: Any) -> Callable[[Story, Any, str], object]:
    return lambda story, _, key: story.ask("PATCH", f"/pipelines/{story.name}", body, key)


def _deployed(version: int) -> Callable[[Story, Any], None]:
    def judged(story: Story, _: Any) -> None:
        story.until(state="Running")
        shown: Any = story.plane.client.get(f"/pipelines/{story.name}")
        assert shown["version"] == version, "it was deployed more than once"
        comes_to_its_end(story)

    return judged


def _take_savepoint(stop: str) -> Callable[[Story, Any, str], object]:
    return lambda story, _, key: story.savepoint(key, stop=stop)


def _has_savepoint(story: Story, _: Any) -> None:
    (savepoint,) = _savepoints(story)
    assert story.saved(savepoint)["state"] == "completed"
    story.until(state="Running")
    comes_to_its_end(story)


def _stopped_at_savepoint(story: Story, _: Any) -> None:
    story.until(state="Stopped")
    (savepoint,) = _savepoints(story)
    saved = story.saved(savepoint)
    newest = newest_commit(story.state / "checkpoint")
    assert (saved["state"], saved["epoch"]) == ("completed", newest), "an epoch falls between"
    assert story.job()["epoch"] == newest, "also if its driver was killed before it had reported it"
    rests_and_goes_on(story)


def _savepoints(story: Story) -> list[str]:
    answer: Any = story.plane.client.get(f"/pipelines/{story.name}/savepoints")
    return [shown["id"] for shown in answer["data"]]


def _restore(*, allow_replay: bool) -> Callable[[Story, Any, str], object]:
    def ask(story: Story, savepoint: Any, key: str) -> object:
        body = {"savepoint_id": savepoint, "allow_replay": allow_replay}
        return story.ask("POST", f"/pipelines/{story.name}/restore", body, key)

    return ask


def _is_restored(story: Story) -> bool:
    lineage = story.state / "lineage.json"
    return bool(json.loads(lineage.read_text())["parents"]) if lineage.exists() else False


def _restored_at_rest(story: Story, _: Any) -> None:
    until(lambda: _is_restored(story), bool, PATIENCE)
    rests_and_goes_on(story)


def _restored(story: Story, savepoint: Any) -> None:
    until(lambda: _is_restored(story), bool, PATIENCE)
    story.until(state="Running")
    story.until_epoch(story.saved(savepoint)["epoch"] + 1)
    comes_to_its_end(story)


def _rescaled(story: Story, _: Any) -> None:
    story.until(state="Running", tasks=2)
    assert json.loads((story.state / "pipeline.json").read_text())["parallelism"] == 2
    comes_to_its_end(story)


def _delete(story: Story, _: Any, key: str) -> object:
    try:
        return story.ask("DELETE", f"/pipelines/{story.id}?with_savepoints=true", None, key)
    except RefusedError as refusal:
        raise AssertionError(f"a deletion that was repeated is refused: {refusal}") from refusal


def _deleted(story: Story, _: Any) -> None:
    folders = [story.state, story.plane.data_dir / "runs" / story.id]
    until(lambda: [folder for folder in folders if folder.exists()], lambda there: not there, 60)
    story.id = ""
    parts = list(OneFile(story.out).new())
    assert judge(parts, sum(len(part.numbers) for part in parts)).is_clean


def _upgraded(story: Story) -> str:
    """Version 2 has another plan, and has taken over the state of version 1."""
    _running(story)
    story.deploy(query=QUERY.format(out=story.out).replace("SELECT counter", "SELECT counter + 0 AS counter"))
    story.until(state="Running", run_id=2)
    story.until_epoch(story.job()["epoch"] + 2)
    (savepoint,) = _savepoints(story)
    assert story.saved(savepoint)["state"] == "completed"
    return savepoint


def _roll_back(story: Story, _: Any, key: str) -> object:
    return story.ask("POST", f"/pipelines/{story.name}/rollback", {"to": 1}, key)


def _rolled_back(story: Story, savepoint: Any) -> None:
    until(lambda: _is_restored(story), bool, PATIENCE)
    story.until(state="Running", settled=True)
    shown: Any = story.plane.client.get(f"/pipelines/{story.name}")
    assert (shown["version"], shown["query"]) == (3, QUERY.format(out=story.out)), "it went back more than once"
    for saved in _savepoints(story):
        assert story.saved(saved)["state"] == "completed"
    assert len(_savepoints(story)) == 2, "its state was not saved once"
    story.until_epoch(story.saved(savepoint)["epoch"] + 1)
    comes_to_its_end(story)


def _fork_of(story: Story) -> Story:
    return Story(story.plane, story.folder, f"{story.name}-fork")


def _fork(story: Story, savepoint: Any, key: str) -> object:
    fork = _fork_of(story)
    body = {"name": fork.name, "query": QUERY.format(out=fork.out)}
    return story.ask("POST", f"/savepoints/{savepoint}/fork", body, key)


def _forked(story: Story, savepoint: Any) -> None:
    fork = _fork_of(story)
    fork.until(state="Running", settled=True)
    shown: Any = fork.plane.client.get(f"/pipelines/{fork.name}")
    fork.id = shown["id"]
    until(fork.drivers, lambda pids: len(pids) == 1, 60)
    end = fork.out.with_name(f"{fork.name}.end")
    end.touch()
    fork.until(state="Finished")
    until(fork.drivers, lambda pids: not pids, 60)
    numbers = sorted(int(number) for part in OneFile(fork.out).new() for number in part.numbers)
    first = 50 * (story.saved(savepoint)["epoch"] + 1)
    assert numbers == list(range(first, int(end.read_text()))), "the fork has other rows than those after the savepoint"
    assert leftovers(fork) == [], "something lies about"
    comes_to_its_end(story)


VERBS: Mapping[str, Verb] = {
    "rollback": Verb(_roll_back, _rolled_back, _upgraded),
    "fork": Verb(_fork, _forked, _with_savepoint),
    "deploy": Verb(lambda story, _, key: story.deploy(key), _deployed(1), lambda _: ""),
    "redeploy": Verb(
        lambda story, _, key: story.deploy(key, checkpoint_interval_micros=1_000_000), _deployed(2), _running
    ),
    "stop": Verb(_patch(stop="checkpoint"), lambda story, _: rests_and_goes_on(story)),
    "stop-now": Verb(_patch(stop="immediate"), lambda story, _: rests_and_goes_on(story)),
    "stop-by-force": Verb(_patch(stop="force"), lambda story, _: rests_and_goes_on(story)),
    "savepoint": Verb(_take_savepoint("none"), _has_savepoint),
    "stop-with-savepoint": Verb(_take_savepoint("checkpoint"), _stopped_at_savepoint),
    "restore": Verb(_restore(allow_replay=True), _restored, _with_savepoint),
    "restore-at-rest": Verb(_restore(allow_replay=False), _restored_at_rest, _stopped_with_savepoint),
    "rescale": Verb(_patch(parallelism=2), _rescaled),
    "delete": Verb(_delete, _deleted, _stopped),
}


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
