"""The requests in whose middle something is killed: what has to be there before each, and what it comes to.

prepare   a job that is as far as the request needs it
arm       the point at which the first process that comes to it dies
ask       the request; a control plane that dies is started again, and the request repeated with its key
is_done   the state that was asked for
judge     one driver or none, nothing left about, every row once
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.checkpoints.spark_log import newest_commit
from engine.cli.base import RefusedError
from engine.jobs.fault_points import ControlPoint
from tests.chaos.check import judge
from tests.chaos.targets import OneFile
from tests.kills.driver import WONT_RUN
from tests.kills.stories import PATIENCE, QUERY, ArmedPlane, Kill, Story, has_ended, leftovers
from tests.system.conftest import until


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
    verb.is_done(story, prepared)
    verb.judge(story, prepared)


def points_of(plane: ArmedPlane, folder: Path, name: str) -> set[str]:
    """The points that a request comes to when nobody dies, from when it is asked until it is done."""
    story, verb, notes, earlier = Story(plane, folder), VERBS[name], folder / "points", folder / "earlier"
    earlier.touch()
    plane.revive()
    plane.fault.write_text(f">{earlier}")
    prepared = verb.prepare(story)
    until(lambda: earlier.read_text().splitlines(), _is_at_rest, PATIENCE)
    plane.fault.write_text(f">{notes}")
    verb.ask(story, prepared, uuid.uuid4().hex)
    verb.is_done(story, prepared)
    plane.fault.unlink()
    verb.judge(story, prepared)
    return set(notes.read_text().splitlines())


def _is_at_rest(points: list[str]) -> bool:
    """Whether the controller is in the middle of no step: what it comes to is seen before it has gone on."""
    return not points or not points[-1].startswith((ControlPoint.BEFORE_INTENT, ControlPoint.AFTER_INTENT))


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


@dataclass(frozen=True, slots=True)
class Verb:
    """A request: the request itself, until when it is done, what it comes to, and what has to be there before it."""

    ask: Callable[[Story, Any, str], object]
    is_done: Callable[[Story, Any], object]
    judge: Callable[[Story, Any], None] = lambda story, _: comes_to_its_end(story)
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

    return judged


def _take_savepoint(stop: str) -> Callable[[Story, Any, str], object]:
    return lambda story, _, key: story.savepoint(key, stop=stop)


def _has_savepoint(story: Story, _: Any) -> None:
    (savepoint,) = _savepoints(story)
    assert story.saved(savepoint)["state"] == "completed"
    story.until(state="Running")


def _has_stopped(story: Story, _: Any) -> None:
    story.until(state="Stopped")
    until(story.drivers, lambda pids: not pids, 60)


def _stopped_at_savepoint(story: Story, _: Any) -> None:
    _has_stopped(story, "")
    (savepoint,) = _savepoints(story)
    saved = story.saved(savepoint)
    newest = newest_commit(story.state / "checkpoint")
    assert (saved["state"], saved["epoch"]) == ("completed", newest), "an epoch falls between"
    assert story.job()["epoch"] == newest, "also if its driver was killed before it had reported it"


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
    try:
        return bool(json.loads(lineage.read_text())["parents"])
    except FileNotFoundError:  # while it is swapped for another
        return False


def _restored_at_rest(story: Story, _: Any) -> None:
    until(lambda: _is_restored(story), bool, PATIENCE)
    story.until(state="Stopped", settled=True)


def _restored(story: Story, savepoint: Any) -> None:
    until(lambda: _is_restored(story), bool, PATIENCE)
    story.until(state="Running")
    story.until_epoch(story.saved(savepoint)["epoch"] + 1)


def _rescaled(story: Story, _: Any) -> None:
    story.until(state="Running", tasks=2)
    assert json.loads((story.state / "pipeline.json").read_text())["parallelism"] == 2


def _delete(story: Story, _: Any, key: str) -> object:
    try:
        return story.ask("DELETE", f"/pipelines/{story.id}?with_savepoints=true", None, key)
    except RefusedError as refusal:
        raise AssertionError(f"a deletion that was repeated is refused: {refusal}") from refusal


def _deleted(story: Story, _: Any) -> None:
    folders = [story.state, story.plane.data_dir / "runs" / story.id]
    until(lambda: [folder for folder in folders if folder.exists()], lambda there: not there, 60)


def _wrote_each_row_once(story: Story, _: Any) -> None:
    story.id = ""
    parts = list(OneFile(story.out).new())
    assert judge(parts, sum(len(part.numbers) for part in parts)).is_clean


def _changed(story: Story) -> str:
    """Another query, with the same rows."""
    return QUERY.format(out=story.out).replace("SELECT counter", "SELECT counter + 0 AS counter")


def _upgrade(story: Story, _: Any, key: str) -> object:
    return story.deploy(key, query=_changed(story))


def _upgraded(story: Story, _: Any) -> None:
    story.until(state="Running", settled=True)
    shown: Any = story.plane.client.get(f"/pipelines/{story.name}")
    assert (shown["version"], shown["query"]) == (2, _changed(story)), "it was deployed more than once, or went back"
    (savepoint,) = _savepoints(story)
    saved = story.saved(savepoint)
    assert (saved["state"], saved["version"]) == ("completed", 1)
    assert json.loads((story.state / "pipeline.json").read_text())["sql"] == _changed(story)
    assert json.loads((story.state / "lineage.json").read_text())["parents"], "the state was not taken over"
    story.until_epoch(saved["epoch"] + 1)


def _upgraded_before(story: Story) -> str:
    """Version 2 has another plan, and has taken over the state of version 1: the savepoint, and the lineage."""
    _running(story)
    _upgrade(story, "", uuid.uuid4().hex)
    _upgraded(story, "")
    story.until_epoch(story.job()["epoch"] + 2)
    return _savepoints(story)[0]


def _deploy_what_fails(story: Story, _: Any, key: str) -> object:
    query = QUERY.format(out=story.out).replace("SELECT counter", f"SELECT {WONT_RUN} AS counter")
    return story.deploy(key, query=query)


def _went_back(story: Story, _: Any) -> None:
    def is_back() -> bool:
        story.job()  # from a control plane that lives
        shown: Any = story.plane.client.get(f"/pipelines/{story.name}")
        return bool(shown["version"] == 3)

    until(is_back, bool, PATIENCE)
    story.until(state="Running", settled=True)
    shown: Any = story.plane.client.get(f"/pipelines/{story.name}")
    assert (shown["version"], shown["query"]) == (3, QUERY.format(out=story.out)), "it went back more than once"
    (savepoint,) = _savepoints(story)
    saved = story.saved(savepoint)
    assert (saved["state"], saved["version"]) == ("completed", 1)
    story.until_epoch(saved["epoch"] + 1)


def _roll_back(story: Story, _: Any, key: str) -> object:
    return story.ask("POST", f"/pipelines/{story.name}/rollback", {"to": 1}, key)


def _rolled_back(story: Story, savepoint: Any) -> None:
    story.until(state="Running", settled=True)
    shown: Any = story.plane.client.get(f"/pipelines/{story.name}")
    assert (shown["version"], shown["query"]) == (3, QUERY.format(out=story.out)), "it went back more than once"
    assert json.loads((story.state / "pipeline.json").read_text())["sql"] == QUERY.format(out=story.out)
    for saved in _savepoints(story):
        assert story.saved(saved)["state"] == "completed"
    assert len(_savepoints(story)) == 2, "its state was not saved once"
    story.until_epoch(story.saved(savepoint)["epoch"] + 1)


def _fork_of(story: Story) -> Story:
    return Story(story.plane, story.folder, f"{story.name}-fork")


def _fork(story: Story, savepoint: Any, key: str) -> object:
    fork = _fork_of(story)
    body = {"name": fork.name, "query": QUERY.format(out=fork.out)}
    return story.ask("POST", f"/savepoints/{savepoint}/fork", body, key)


def _is_forked(story: Story, _: Any) -> None:
    _fork_of(story).until(state="Running", settled=True)


def _forked(story: Story, savepoint: Any) -> None:
    fork = _fork_of(story)
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
    "upgrade": Verb(_upgrade, _upgraded),
    "go-back": Verb(_deploy_what_fails, _went_back),
    "rollback": Verb(_roll_back, _rolled_back, prepare=_upgraded_before),
    "fork": Verb(_fork, _is_forked, _forked, _with_savepoint),
    "deploy": Verb(lambda story, _, key: story.deploy(key), _deployed(1), prepare=lambda _: ""),
    "redeploy": Verb(lambda story, _, key: story.deploy(key, checkpoint_interval_micros=1_000_000), _deployed(2)),
    "stop": Verb(_patch(stop="checkpoint"), _has_stopped, lambda story, _: rests_and_goes_on(story)),
    "stop-now": Verb(_patch(stop="immediate"), _has_stopped, lambda story, _: rests_and_goes_on(story)),
    "stop-by-force": Verb(_patch(stop="force"), _has_stopped, lambda story, _: rests_and_goes_on(story)),
    "savepoint": Verb(_take_savepoint("none"), _has_savepoint),
    "stop-with-savepoint": Verb(
        _take_savepoint("checkpoint"), _stopped_at_savepoint, lambda story, _: rests_and_goes_on(story)
    ),
    "restore": Verb(_restore(allow_replay=True), _restored, prepare=_with_savepoint),
    "restore-at-rest": Verb(
        _restore(allow_replay=False),
        _restored_at_rest,
        lambda story, _: rests_and_goes_on(story),
        _stopped_with_savepoint,
    ),
    "rescale": Verb(_patch(parallelism=2), _rescaled),
    "delete": Verb(_delete, _deleted, _wrote_each_row_once, _stopped),
}
"""The requests, and an upgrade that goes back by itself since its query fails."""
