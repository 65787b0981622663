"""Savepoints are taken by schedule, once at each instant, as long as the pipeline runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from engine.cli.main import main
from engine.control.caretaker import Caretaker
from engine.delivery.faults import ALLOWED, ARMED
from engine.errors import DamagedSavepointError
from engine.jobs.fault_points import ControlPoint, SchedulePoint
from engine.jobs.schedules.savepoint_schedule import Schedule
from engine.store import savepoints
from engine.store.savepoints import Outcome, Savepoint, StoredSchedule
from engine.values.instants import to_micros
from tests.api import schedule_that_dies
from tests.api.conftest import T0, Plane
from tests.api.stand_in_server import StandInServer
from tests.api.test_savepoint_removal import code_of, ids
from tests.api.test_savepoint_tasks import play
from tests.api.test_savepoints import PATH
from tests.system.conftest import until

SCHEDULE = "/pipelines/orders/savepoint-schedule"
HOURLY = {"cron": "0 * * * *"}


def put(plane: Plane, **rules: Any) -> dict[str, Any]:
    answer = plane.http.put(f"/api/v1{SCHEDULE}", json={**HOURLY, **rules})
    assert answer.is_success, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


def let_hours_pass(plane: Plane, hours: float, looks: int = 1) -> None:
    """Let so much time pass, the control plane looking only now."""
    plane.now += timedelta(hours=hours)
    for _ in range(looks):
        Caretaker(plane.context).look()
        finish_work(plane)


def finish_work(plane: Plane) -> None:
    """Wait for what is in hand."""
    until(lambda: plane.context.in_hand, lambda in_hand: not in_hand)
    plane.context.readers.submit(int).result()


def told(plane: Plane, about: str = "") -> list[str]:
    """The events with a word in them, oldest first."""
    events = [event["message"] for event in plane.get("/pipelines/orders/events")["data"]][::-1]
    return [message for message in events if about in message]


def last(plane: Plane) -> tuple[str, str | None]:
    outcome = plane.get(SCHEDULE)["last"]
    return outcome["state"], outcome["reason"]


def micros(hours: float) -> int:
    return to_micros(T0 + timedelta(hours=hours))


def test_a_savepoint_is_taken_at_each_instant(plane: Plane) -> None:
    plane.run()
    assert put(plane)["next_at"] == micros(1)

    let_hours_pass(plane, 0.99)
    assert ids(plane) == []
    for _ in range(3):
        let_hours_pass(plane, 1, looks=5)

    assert len(ids(plane)) == 3
    newest = plane.get(PATH)["data"][0]
    assert (newest["creator"], newest["reason"]) == ("schedule", "scheduled for 2026-01-01T03:00+00:00")
    shown = plane.get(SCHEDULE)
    assert shown["next_at"] == micros(4)
    assert shown["last"] == {"at": micros(3), "state": "taken", "savepoint": newest["id"], "reason": None}


def test_one_of_the_missed_scheduled_savepoints_is_taken_and_reported(plane: Plane) -> None:
    plane.run()
    put(plane)

    let_hours_pass(plane, 5.5, looks=4)

    [name] = ids(plane)
    assert told(plane, "as scheduled") == [
        f"savepoint {name} is taken as scheduled for 2026-01-01T05:00+00:00, late; of those since "
        "2026-01-01T01:00+00:00 that were not taken it is the only one"
    ]
    assert plane.get(SCHEDULE)["next_at"] == micros(6)


def test_looks_at_the_same_time_take_one(plane: Plane) -> None:
    plane.run()
    put(plane)
    plane.now += timedelta(hours=1)

    looks = [plane.context.workers.submit(Caretaker(plane.context).look) for _ in range(4)]
    for look in looks:
        look.result()
    finish_work(plane)

    assert len(ids(plane)) == 1


def test_a_clock_that_is_set_back_repeats_no_instant(plane: Plane) -> None:
    plane.run()
    put(plane)
    let_hours_pass(plane, 1)

    plane.now -= timedelta(minutes=30)
    let_hours_pass(plane, 0.5, looks=2)

    assert len(ids(plane)) == 1


def test_a_pipeline_that_rests_has_none_taken_and_says_so_once(plane: Plane) -> None:
    plane.run()
    put(plane)
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "force"})
    plane.settle()

    for _ in range(3):
        let_hours_pass(plane, 1)

    assert ids(plane) == []
    assert told(plane, "as scheduled") == [
        "no savepoint is taken as scheduled for 2026-01-01T01:00+00:00: the pipeline is Stopped"
    ]
    assert last(plane) == ("left_out", "the pipeline is Stopped")
    assert plane.get(SCHEDULE)["last"]["at"] == micros(3)


def test_scheduled_savepoint_waits_for_a_recovering_job(plane: Plane) -> None:
    plane.run()
    put(plane)
    plane.end(None)
    let_hours_pass(plane, 1)
    assert (plane.state(), ids(plane)) == ("Recovering", [])

    plane.let_pass(60)
    plane.come_up()
    Caretaker(plane.context).look()
    finish_work(plane)

    assert len(ids(plane)) == 1


def test_there_is_never_a_second_one_beside_one_that_is_taken(plane: Plane) -> None:
    pipeline = plane.run()
    put(plane)
    pending = Savepoint("sp_aaaaaaaaaaaaaaaa", pipeline["id"], None, T0)
    with plane.context.database.writing() as connection:
        savepoints.add(connection, pending)

    let_hours_pass(plane, 1, looks=3)
    assert (ids(plane), plane.get(SCHEDULE)["next_at"]) == ([pending.id], micros(1))
    let_hours_pass(plane, 1)
    assert ids(plane) == [pending.id]
    assert last(plane) == ("left_out", "another savepoint is being taken")
    with plane.context.database.writing() as connection:
        savepoints.settle(connection, replace(pending, state="failed"))
    Caretaker(plane.context).look()
    finish_work(plane)

    assert len(ids(plane)) == 2
    assert plane.get(SCHEDULE)["last"]["at"] == micros(2)


def test_none_is_taken_in_a_window(plane: Plane) -> None:
    plane.run()
    put(plane, blackout=["00:30-02:30"], time_zone="UTC")

    for _ in range(3):
        let_hours_pass(plane, 1)

    assert len(ids(plane)) == 1
    assert told(plane, "no savepoint") == [
        "no savepoint is taken as scheduled for 2026-01-01T01:00+00:00: none is taken in 00:30-02:30"
    ]


def test_a_drill_follows_and_is_written_down(plane: Plane) -> None:
    plane.run()
    play(plane, lambda _: "3 rows were read")
    put(plane, drill=True)

    let_hours_pass(plane, 1, looks=3)

    [name] = ids(plane)
    assert plane.get(f"{PATH}/{name}")["proven_at"] == micros(1)
    assert last(plane) == ("proven", None)
    assert told(plane, "proven") == [f"savepoint {name} of the schedule is proven to be restorable"]


def test_the_next_one_waits_for_a_drill(plane: Plane) -> None:
    plane.run()
    may_end = Event()
    play(plane, lambda _: (may_end.wait(60) and "3 rows were read") or "")
    put(plane, drill=True)
    plane.now += timedelta(hours=1)
    for _ in range(2):
        Caretaker(plane.context).look()
        until(lambda: plane.context.in_hand, lambda in_hand: not in_hand)
    assert last(plane) == ("drilling", None)

    plane.now += timedelta(hours=1)
    Caretaker(plane.context).look()
    assert (last(plane), len(ids(plane))) == (("drilling", None), 1)
    may_end.set()
    finish_work(plane)
    let_hours_pass(plane, 0, looks=3)

    assert (last(plane), len(ids(plane))) == (("proven", None), 2)
    assert len(told(plane, "is proven")) == 2


def test_a_drill_that_fails_is_said(plane: Plane) -> None:
    plane.run()

    def fail(_: Path) -> str:
        raise DamagedSavepointError("a row is not there")

    play(plane, fail)
    put(plane, drill=True)

    let_hours_pass(plane, 1, looks=4)

    assert last(plane) == ("failed", "its drill fails: a row is not there")
    assert len(told(plane, "its drill fails")) == 1


def test_impossible_scheduled_savepoint_is_reported(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    plane.run()
    put(plane)
    object.__setattr__(plane.context, "take", refuse)

    let_hours_pass(plane, 1, looks=3)

    assert last(plane) == ("failed", "a part is gone")
    assert len(told(plane, "of the schedule fails: a part is gone")) == 1


def refuse(*_: object) -> Any:
    raise DamagedSavepointError("a part is gone")


def test_a_schedule_brings_what_is_kept_with_it(plane: Plane) -> None:
    plane.run()
    shown = put(plane, retention={"keep_last": 2})
    assert shown["retention"]["keep_last"] == 2

    for _ in range(4):
        let_hours_pass(plane, 1)
    Caretaker(plane.context).look()

    assert len(ids(plane)) == 2
    assert put(plane)["retention"]["keep_last"] == 2


def test_the_same_schedule_once_more_changes_nothing(plane: Plane) -> None:
    plane.run()
    put(plane)
    plane.now += timedelta(hours=1.5)

    assert put(plane, blackout=["05:00-06:00"])["next_at"] == micros(1)
    assert put(plane, cron="30 * * * *")["next_at"] == micros(2.5)
    assert len(told(plane, "schedule set")) == 3
    put(plane, cron="30 * * * *")
    assert len(told(plane, "schedule set")) == 3


def test_without_a_schedule_none_is_taken(plane: Plane) -> None:
    plane.run()
    put(plane)
    assert plane.http.delete(f"/api/v1{SCHEDULE}").json()["cron"] is None

    let_hours_pass(plane, 2)

    assert (ids(plane), plane.get(SCHEDULE)["cron"]) == ([], None)


@pytest.mark.parametrize(
    "rules",
    [
        {"cron": "0 0 30 2 *"},
        {"cron": "0 0 * *"},
        {"cron": "0 0 * * *", "time_zone": "Mars"},
        {"cron": "0 0 * * *", "blackout": ["nine to five"]},
        {"cron": "0 0 * * *", "retention": {}},
    ],
)
def test_invalid_savepoint_schedule_is_refused(plane: Plane, rules: Mapping[str, Any]) -> None:
    plane.run()
    answer = plane.http.put(f"/api/v1{SCHEDULE}", json=rules)

    assert code_of(answer) == (400, "setting.savepoint_rule")
    assert plane.get(SCHEDULE)["cron"] is None


def test_a_drill_is_refused_where_none_can_be_played(plane: Plane) -> None:
    plane.run()

    answer = plane.http.put(f"/api/v1{SCHEDULE}", json={**HOURLY, "drill": True})

    assert code_of(answer) == (422, "request.invalid")


@pytest.mark.parametrize("point", [*SchedulePoint, ControlPoint.AFTER_SAVEPOINT], ids=str)
def test_a_control_plane_that_is_killed_takes_each_instants_once(tmp_path: Path, point: str) -> None:
    environment = {**os.environ, ARMED: str(point), ALLOWED: "1"}
    died = subprocess.run(
        [sys.executable, "-m", schedule_that_dies.__name__, str(tmp_path)], env=environment, check=False
    )
    assert died.returncode == -signal.SIGKILL

    [savepoint], stored = schedule_that_dies.go_on(tmp_path)

    assert savepoint.proven_at == T0
    assert stored == StoredSchedule(
        Schedule("0 * * * *", drill=True), T0 + timedelta(hours=1), T0, Outcome("proven", savepoint.id)
    )


def test_the_verb_sets_shows_and_drops_a_schedule(
    server: StandInServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ARROYO_URL", server.url)
    monkeypatch.setenv("ARROYO_TOKEN", "t")
    shown = {
        "cron": "0 3 * * *",
        "time_zone": "UTC",
        "blackout": [],
        "drill": True,
        "next_at": micros(3),
        "last": None,
        "retention": {"keep_last": 3, "time_zone": "UTC"},
    }
    server.script += [json.dumps(answer).encode() for answer in (shown, {"cron": None, "retention": {}})]

    options = ["--cron", "0 3 * * *", "--drill", "--keep-last", "3", "--blackout", "09:00-17:00"]
    assert main(["savepoint", "schedule", "orders", *options]) == 0
    assert main(["savepoint", "schedule", "orders", "--never"]) == 0

    (set_it, set_at, _, body), (drop_it, dropped_at, *_) = server.requests
    assert (set_it, set_at, drop_it, dropped_at) == ("PUT", f"/api/v1{SCHEDULE}", "DELETE", f"/api/v1{SCHEDULE}")
    kept = {"cron": "0 3 * * *", "blackout": ["09:00-17:00"], "drill": True, "retention": {"keep_last": 3}}
    assert json.loads(body) == kept
    said = capsys.readouterr().out
    assert "2026-01-01T03:00" in said
    assert "no savepoints are taken by themselves" in said


def test_a_schedule_without_instants_is_refused_by_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["savepoint", "schedule", "orders", "--drill"]) == 2
    assert "a schedule needs its instants" in capsys.readouterr().err
    assert main(["savepoint", "schedule", "orders", "--never", "--cron", "0 3 * * *"]) == 2


def test_while_a_schedule_is_paused_none_is_taken_and_what_was_due_is_not_caught_up(plane: Plane) -> None:
    plane.run()
    put(plane)
    let_hours_pass(plane, 1, looks=3)
    first = ids(plane)

    paused = put(plane, paused=True)
    assert (paused["paused"], paused["next_at"], paused["last"]["state"]) == (True, None, "taken")
    let_hours_pass(plane, 5.5, looks=3)
    assert ids(plane) == first
    resumed = put(plane)
    let_hours_pass(plane, 0.1)

    assert (resumed["paused"], resumed["next_at"], resumed["last"]["state"]) == (False, micros(7), "taken")
    assert ids(plane) == first
    let_hours_pass(plane, 0.5)
    assert len(ids(plane)) == 2


def test_the_schedules_of_all_pipelines_are_in_one_list_by_name(plane: Plane) -> None:
    for name in ("orders", "clicks", "without"):
        plane.run(name)
    put(plane, blackout=["09:00-17:00"], retention={"keep_last": 3})
    answer = plane.http.put("/api/v1/pipelines/clicks/savepoint-schedule", json={**HOURLY, "paused": True})
    assert answer.is_success, answer.text

    listed = plane.get("/savepoint-schedules")["data"]

    assert [(each["pipeline"], each["paused"], each["next_at"]) for each in listed] == [
        ("clicks", True, None),
        ("orders", False, micros(1)),
    ]
    orders = plane.get("/pipelines/orders")
    assert listed[1] == {"pipeline": "orders", "pipeline_id": orders["id"], **plane.get(SCHEDULE)}


def test_the_verb_pauses_a_schedule_and_lets_it_go_on_as_it_was(
    server: StandInServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ARROYO_URL", server.url)
    monkeypatch.setenv("ARROYO_TOKEN", "t")
    schedule = {"cron": "0 3 * * *", "time_zone": "UTC", "blackout": ["09:00-17:00"], "drill": True}
    shown = {**schedule, "paused": True, "next_at": None, "last": None, "retention": {"keep_last": 3}}
    server.answer = json.dumps(shown).encode()

    assert main(["savepoint", "schedule", "orders", "--pause"]) == 0
    assert main(["savepoint", "schedule", "orders", "--resume"]) == 0

    sent = [(method, json.loads(body)) for method, _, _, body in server.requests if method != "GET"]
    assert sent == [("PUT", {**schedule, "paused": True}), ("PUT", {**schedule, "paused": False})]
    assert "none, it is paused" in capsys.readouterr().out


@pytest.mark.parametrize("more", [["--resume"], ["--cron", "0 3 * * *"], ["--never"], ["--drill"]])
def test_a_pause_changes_nothing_else_of_a_schedule(
    server: StandInServer, monkeypatch: pytest.MonkeyPatch, more: list[str]
) -> None:
    monkeypatch.setenv("ARROYO_URL", server.url)
    monkeypatch.setenv("ARROYO_TOKEN", "t")

    assert main(["savepoint", "schedule", "orders", "--pause", *more]) == 2
    assert main(["savepoint", "schedule", "orders", "--pause"]) == 2  # there is none

    assert [method for method, *_ in server.requests] == ["GET"]
