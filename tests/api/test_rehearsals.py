"""A control plane has rehearsals played, a few at a time, and says truthfully what came of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from fastapi import FastAPI

from engine.cli.upgrades.rehearse import _show_outcome, _until_over
from engine.control.rehearsals import RehearsalCheck
from engine.control.upgrades import rehearsal_watch
from engine.control.upgrades.rehearsal_watch import RehearsalWatch
from engine.errors import RehearsalError, UnreachableError
from engine.jobs.decisions.rollback import RehearsalFolder, RehearsalOrder
from engine.jobs.disk import DataDirectory
from engine.jobs.fault_points import RehearsalPoint
from tests.api.conftest import Plane

BASE = "/api/v1/pipelines/orders/rehearsals"
REPORT = {"differs": True, "plan": "p", "epoch": 4, "sinks": [{"sink": "counts", "differs": True}]}


@dataclass
class FakeRehearsers:
    """Processes that are only noted. A test ends them, with a result or without."""

    directory: DataDirectory
    alive: set[str] = field(default_factory=set)
    orders: dict[str, RehearsalOrder] = field(default_factory=dict)
    told: dict[str, tuple[str, Mapping[str, str]]] = field(default_factory=dict)
    fails: bool = False
    while_looked_at: Callable[[], object] = lambda: None
    """What happens while it is seen how one stands."""

    def start(self, rehearsal_id: str, order: RehearsalOrder, script: str, secrets: Mapping[str, str]) -> None:
        if self.fails:
            raise OSError("no more processes")
        order.write(self.directory.rehearsal(rehearsal_id))
        self.orders[rehearsal_id] = order
        self.told[rehearsal_id] = (script, secrets)
        self.alive.add(rehearsal_id)

    def is_alive(self, rehearsal_id: str) -> bool:
        self.while_looked_at()
        return rehearsal_id in self.alive

    def end_processes(self, rehearsal_id: str) -> None:
        self.alive.discard(rehearsal_id)

    def remove(self, rehearsal_id: str) -> None:
        folder = self.directory.rehearsal(rehearsal_id)
        for file in folder.iterdir() if folder.exists() else ():
            file.unlink()
        if folder.exists():
            folder.rmdir()

    def left(self) -> Iterable[str]:
        parent = self.directory.rehearsals
        return sorted(entry.name for entry in parent.iterdir()) if parent.exists() else []


@dataclass
class Stage:
    """The control plane with a pipeline that runs, and the hands that play."""

    plane: Plane
    rehearsers: FakeRehearsers
    watch: RehearsalWatch
    free: int = 2**40
    free_memory: int | None = 2**40
    check: RehearsalCheck | RehearsalError = field(default_factory=lambda: RehearsalCheck("p1", 1000))

    def allow(self, **limits: Any) -> None:
        """Have other limits from now on."""
        context = replace(self.plane.context, rehearsals=replace(self.plane.context.rehearsals, **limits))
        self.plane.context = self.watch.context = context
        assert isinstance(self.plane.http.app, FastAPI)
        self.plane.http.app.state.context = context

    def ask(self, expected: int = 202, name: str = "orders", key: str | None = None, **body: Any) -> dict[str, Any]:
        headers = {} if key is None else {"Idempotency-Key": key}
        path = f"/api/v1/pipelines/{name}/rehearsals"
        answer = self.plane.http.post(path, json={"query": "SELECT 2", **body}, headers=headers)
        assert answer.status_code == expected, answer.text
        content: dict[str, Any] = answer.json()
        return content

    def get(self, rehearsal_id: str) -> dict[str, Any]:
        return self.plane.get(f"/pipelines/orders/rehearsals/{rehearsal_id}")

    def play(self, rehearsal_id: str, **result: Any) -> None:
        """The process ends with a result."""
        folder = RehearsalFolder(self.rehearsers.directory.rehearsal(rehearsal_id))
        folder.result.write_text(json.dumps(result or {"report": REPORT, "text": "counts differs\n"}))
        self.rehearsers.alive.discard(rehearsal_id)


@pytest.fixture
def stage(plane: Plane) -> Stage:
    stages: list[Stage] = []

    def check(*_: object) -> RehearsalCheck:
        if isinstance(found := stages[0].check, RehearsalError):
            raise found
        return found

    plane.context = replace(plane.plans_by(check_rehearsal=check), free_bytes=lambda: stages[0].free)
    plane.context = replace(plane.context, free_memory=lambda: stages[0].free_memory)
    rehearsers = FakeRehearsers(plane.context.directory)
    stages.append(Stage(plane, rehearsers, RehearsalWatch(plane.context, rehearsers)))
    stages[0].allow(limit=timedelta(minutes=10))
    plane.run()
    return stages[0]


def test_queued_rehearsal_runs_and_reports_different_rows(stage: Stage) -> None:
    asked = stage.ask(examples=3, reset=["counts"])
    assert (asked["state"], asked["plan_id"], asked["differs"], asked["version"]) == ("waiting", "p1", None, 1)

    stage.watch.look()
    folder = RehearsalFolder(stage.rehearsers.directory.rehearsal(asked["id"]))
    folder.step.write_text("running the old query")
    running = stage.get(asked["id"])
    assert (running["state"], running["step"]) == ("running", "running the old query")
    order = stage.rehearsers.orders[asked["id"]]
    assert (order.change.query, order.change.examples, order.change.reset) == ("SELECT 2", 3, ("counts",))
    assert order.limit_seconds > 600

    stage.play(asked["id"])
    stage.watch.look()

    done = stage.get(asked["id"])
    assert (done["state"], done["differs"], done["report"], done["step"]) == ("done", True, REPORT, None)
    assert done["text"] == "counts differs\n"
    assert not folder.root.exists()
    messages = [event["message"] for event in stage.plane.get("/pipelines/orders/events")["data"]]
    assert f"rehearsal {asked['id']} finished: rows of counts differ" in messages
    assert stage.plane.get("/pipelines/orders/rehearsals")["data"] == [done]
    assert len(stage.plane.runner.launched) == 1
    assert stage.plane.state() == "Running"


def test_impossible_rehearsal_is_refused_before_anything_is_stored(stage: Stage) -> None:
    stage.check = RehearsalError("clicks cannot be read again")
    assert stage.ask(409)["code"] == "state.rehearsal"
    assert stage.ask(400, query="bad")["code"] == "sql.refused"
    assert stage.ask(404, savepoint_id="sp_none")["code"] == "savepoint.not_found"
    assert stage.ask(404, name="nobody")["code"] == "pipeline.not_found"
    assert stage.plane.http.get(f"{BASE}/reh_none").json()["code"] == "rehearsal.not_found"
    assert stage.plane.get("/pipelines/orders/rehearsals")["data"] == []


def test_a_pipeline_has_one_at_a_time_and_the_same_request_is_the_same_one(stage: Stage) -> None:
    first = stage.ask(key="k")
    assert stage.ask(409)["code"] == "rehearsal.busy"
    assert stage.ask(key="k")["id"] == first["id"]

    stage.watch.look()
    stage.play(first["id"])
    stage.watch.look()

    again = stage.ask(200, key="k")
    assert (again["id"], again["state"]) == (first["id"], "done")
    assert stage.ask(409, key="k", query="SELECT 3")["code"] == "pipeline.key_reused"
    assert stage.ask()["id"] != first["id"]


def test_rehearsals_run_in_order_up_to_the_limit(stage: Stage) -> None:
    stage.allow(at_once=2)
    for name in ("a", "b", "c"):
        stage.plane.deploy(name)
    asked = [stage.ask(name=name)["id"] for name in ("orders", "a", "b", "c")]

    stage.watch.look()
    assert list(stage.rehearsers.orders) == asked[:2]
    stage.play(asked[1])
    stage.watch.look()

    assert list(stage.rehearsers.orders) == asked[:3]
    assert stage.rehearsers.alive == {asked[0], asked[2]}


def test_without_memory_none_is_begun_and_one_whose_turn_comes_is_given_up(stage: Stage) -> None:
    stage.free_memory = 2**31 - 1
    assert stage.ask(409)["code"] == "rehearsal.no_memory"
    asked = stage.ask(settings={"memory": "1g"})
    assert asked["state"] == "waiting"
    stage.free_memory = 2**30 - 1

    stage.watch.look()

    ended = stage.get(asked["id"])
    assert (ended["state"], ended["failure"]["code"]) == ("failed", "rehearsal.no_memory")
    assert not stage.rehearsers.orders


def test_rehearsal_reports_unknown_free_memory(stage: Stage) -> None:
    stage.free_memory = None

    asked = stage.ask()

    stage.watch.look()
    assert stage.get(asked["id"])["state"] == "running"
    said = [event["message"] for event in stage.plane.get("/pipelines/orders/events")["data"]]
    assert any("memory is free on this machine is not known" in message for message in said)


def test_without_room_none_is_begun_and_one_that_takes_what_the_pipelines_need_is_ended(stage: Stage) -> None:
    stage.check = RehearsalCheck("p1", 2**30)
    stage.free = 4 * 2**30 - 1
    assert stage.ask(409)["code"] == "rehearsal.no_room"
    stage.free = 4 * 2**30
    asked = stage.ask()["id"]
    stage.watch.look()
    stage.free = 2**29
    stage.watch.look()
    assert stage.get(asked)["state"] == "running"

    stage.free = 2**29 - 1
    stage.watch.look()

    ended = stage.get(asked)
    assert (ended["state"], ended["failure"]["code"]) == ("failed", "rehearsal.no_room")
    assert not stage.rehearsers.alive
    assert list(stage.rehearsers.left()) == []


def test_rehearsal_over_its_time_limit_is_ended(stage: Stage) -> None:
    asked = stage.ask(limit_micros=60_000_000)["id"]
    stage.watch.look()
    stage.plane.now += timedelta(seconds=60)
    stage.watch.look()
    assert stage.get(asked)["state"] == "running"

    stage.plane.now += timedelta(seconds=1)
    stage.watch.look()

    assert stage.get(asked)["failure"]["code"] == "rehearsal.too_long"
    assert not stage.rehearsers.alive


def test_time_limit_of_a_rehearsal_cannot_exceed_the_setting(stage: Stage) -> None:
    assert stage.ask(limit_micros=10**15)["limit_micros"] == 600_000_000


def test_rehearsal_whose_process_died_is_lost(stage: Stage) -> None:
    asked = stage.ask()["id"]
    stage.watch.look()
    RehearsalFolder(stage.rehearsers.directory.rehearsal(asked)).log.write_text("INFO begins\nkilled by somebody\n")
    stage.rehearsers.alive.clear()

    stage.watch.look()

    failure = stage.get(asked)["failure"]
    assert failure["code"] == "rehearsal.lost"
    assert "killed by somebody" in failure["message"]
    assert "nothing is known" in failure["hint"]


def test_rehearsal_reports_the_error_of_its_process(stage: Stage) -> None:
    asked = stage.ask()["id"]
    stage.watch.look()
    stage.play(asked, code="run.rehearsal_failed", message="the new query fails", hint=None)

    stage.watch.look()

    failed = stage.get(asked)
    assert (failed["state"], failed["failure"]["code"]) == ("failed", "run.rehearsal_failed")
    assert (failed["differs"], failed["report"]) == (None, None)


def test_a_process_that_cannot_be_started_is_a_failure(stage: Stage) -> None:
    stage.rehearsers.fails = True
    asked = stage.ask()["id"]
    stage.watch.look()
    assert stage.get(asked)["failure"]["code"] == "run.rehearsal_failed"


@pytest.mark.parametrize("has_begun", [True, False])
def test_cancelled_rehearsal_ends_and_leaves_no_files(stage: Stage, has_begun: bool) -> None:
    asked = stage.ask()["id"]
    if has_begun:
        stage.watch.look()
    answer = stage.plane.http.delete(f"{BASE}/{asked}").json()
    assert (answer["state"], answer["failure"]["code"]) == ("stopped", "rehearsal.stopped")

    stage.watch.look()

    assert (stage.rehearsers.alive, list(stage.rehearsers.left())) == (set(), [])
    assert stage.get(asked)["state"] == "stopped"
    stage.plane.now += timedelta(seconds=1)
    # one that is over stays as it is
    assert stage.plane.http.delete(f"{BASE}/{asked}").json() == stage.get(asked)


def test_rehearsal_cancelled_at_its_end_stays_cancelled(stage: Stage) -> None:
    asked = stage.ask()["id"]
    stage.watch.look()
    stage.play(asked)
    stage.rehearsers.while_looked_at = lambda: stage.plane.http.delete(f"{BASE}/{asked}")

    stage.watch.look()

    assert stage.get(asked)["state"] == "stopped"
    assert list(stage.rehearsers.left()) == []


def test_a_pipeline_that_is_deleted_takes_its_rehearsal_along(stage: Stage) -> None:
    stage.ask()
    stage.watch.look()
    stage.plane.http.patch("/api/v1/pipelines/orders", json={"stop": "force"})
    stage.plane.settle()
    assert stage.plane.http.delete("/api/v1/pipelines/orders").status_code == 204

    stage.watch.look()

    assert (stage.rehearsers.alive, list(stage.rehearsers.left())) == (set(), [])


def test_the_next_control_plane_goes_on_with_what_is_played_and_says_what_was_lost(stage: Stage) -> None:
    asked = stage.ask()["id"]
    stage.watch.look()
    successor = RehearsalWatch(stage.plane.context, stage.rehearsers)
    successor.look()
    assert stage.get(asked)["state"] == "running"
    stage.play(asked)
    successor.look()
    assert stage.get(asked)["state"] == "done"

    lost = stage.ask()["id"]
    stage.watch.look()
    stage.rehearsers.alive.clear()  # with the machine
    RehearsalWatch(stage.plane.context, stage.rehearsers).look()
    assert stage.get(lost)["failure"]["code"] == "rehearsal.lost"


def test_a_savepoint_that_is_rehearsed_from_is_not_deleted(stage: Stage) -> None:
    taken = stage.plane.http.post("/api/v1/pipelines/orders/savepoints").json()["id"]
    asked = stage.ask(savepoint_id=taken)
    stage.watch.look()
    assert stage.rehearsers.orders[asked["id"]].savepoint == stage.plane.context.directory.savepoint(
        asked["pipeline_id"], taken
    )

    refused = stage.plane.http.delete(f"/api/v1/pipelines/orders/savepoints/{taken}")
    assert (refused.status_code, refused.json()["code"]) == (409, "savepoint.in_use")

    stage.play(asked["id"])
    stage.watch.look()
    assert stage.plane.http.delete(f"/api/v1/pipelines/orders/savepoints/{taken}").status_code == 204


def test_the_process_has_the_secrets_of_the_pipeline_and_no_file_has(stage: Stage) -> None:
    stage.plane.deploy(secrets={"KAFKA": "hush"})
    asked = stage.ask(query="SELECT '{{ secret.KAFKA }}'")["id"]
    stage.watch.look()

    script, secrets = stage.rehearsers.told[asked]
    assert secrets == {"KAFKA": "hush"}
    assert "SELECT 1" in script
    assert "secret.KAFKA" in script
    folder = stage.rehearsers.directory.rehearsal(asked)
    assert all("hush" not in file.read_text() for file in folder.iterdir())
    assert (folder / "order.json").stat().st_mode & 0o077 == 0


def test_only_the_newest_finished_rehearsals_are_stored(stage: Stage) -> None:
    stage.allow(kept=2)
    ids = []
    for _ in range(4):
        ids.append(stage.ask()["id"])
        stage.watch.look()
        stage.play(ids[-1])
        stage.watch.look()

    listed = [row["id"] for row in stage.plane.get("/pipelines/orders/rehearsals")["data"]]
    assert listed == ids[:0:-1]


class Killed(BaseException):
    """The control plane dies."""


@pytest.mark.parametrize("point", list(RehearsalPoint))
def test_killed_at_any_point_each_is_played_once_at_most_and_what_is_said_of_it_holds(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, point: RehearsalPoint
) -> None:
    def die(reached: RehearsalPoint) -> None:
        if reached is point:
            raise Killed

    def live() -> None:
        stage.watch.look()
        stage.play(asked)
        stage.watch.look()

    asked = stage.ask()["id"]
    with monkeypatch.context() as armed:
        armed.setattr(rehearsal_watch, "reach", die)
        with pytest.raises(Killed):
            live()

    successor = RehearsalWatch(stage.plane.context, stage.rehearsers)
    successor.look()
    if point is RehearsalPoint.AFTER_PROCESS:
        assert stage.get(asked)["state"] == "running"
        stage.play(asked)
        successor.look()
    successor.look()

    seen = stage.get(asked)
    was_begun = point is not RehearsalPoint.BEFORE_PROCESS
    assert seen["state"] == ("done" if was_begun else "failed")
    assert was_begun or seen["failure"]["code"] == "rehearsal.lost"
    assert list(stage.rehearsers.orders) == ([asked] if was_begun else [])
    assert (stage.rehearsers.alive, list(stage.rehearsers.left())) == (set(), [])
    over = [event for event in stage.plane.get("/pipelines/orders/events")["data"] if asked in event["message"]]
    assert len(over) == 2  # asked for, and over


def test_a_command_waits_while_the_control_plane_is_away(stage: Stage) -> None:
    looks: list[Any] = [{"id": "r", "state": "running"}, UnreachableError("away"), {"id": "r", "state": "done"}]

    def look() -> Any:
        answer = looks.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert _until_over({"id": "r", "state": "waiting"}, look, lambda: 0.0, lambda _: None)["state"] == "done"
    now = [0.0]

    def away() -> Any:
        raise UnreachableError("away")

    with pytest.raises(UnreachableError):
        _until_over(
            {"id": "r", "state": "waiting"}, away, lambda: now[0], lambda length: now.append(now.pop() + length)
        )
    assert now[0] > 30


@pytest.mark.parametrize(
    ("answer", "code", "shown"),
    [
        ({"report": {"differs": True}, "text": "counts differs\n", "differs": True}, 2, "counts differs"),
        ({"report": {"differs": False}, "text": "no row differs\n", "differs": False}, 0, "no row differs"),
        (
            {"report": None, "failure": {"code": "rehearsal.lost", "message": "ended", "hint": "again"}},
            3,
            "hint: again",
        ),
    ],
)
def test_the_exit_code_says_whether_rows_differ(
    capsys: pytest.CaptureFixture[str], answer: dict[str, Any], code: int, shown: str
) -> None:
    assert _show_outcome(answer, as_json=False) == code
    assert shown in "".join(capsys.readouterr())
