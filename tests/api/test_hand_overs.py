"""A pipeline that has read the input of another one again takes its place, step by step, whoever is killed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.cli.main import main
from engine.control.savepoints.take_savepoints import take_due
from engine.control.upgrades import hand_over_steps
from engine.control.upgrades.auto_rollback import LONGEST_SWITCH
from engine.control.upgrades.hand_over_steps import LONGEST_MEETING, HandOvers
from engine.errors import TargetTakenError, UnreadableStateError
from engine.jobs.decisions.observe import Process
from engine.jobs.decisions.spec import ShownUpgrade, Spec
from engine.jobs.decisions.status import Run
from engine.jobs.fault_points import HandOverPoint
from engine.store import savepoints
from engine.values.run_settings import RunSettings
from engine.values.sink_prefix import without_prefix, writing_under
from tests.api.conftest import TOKEN, Plane, report
from tests.api.stand_in_server import StandInServer
from tests.system.conftest import until

pytestmark = pytest.mark.unit
REPROCESS = "/api/v1/pipelines/orders/reprocess"
HAND_OVER = "/api/v1/pipelines/orders-again/hand-over"
BODY = {"into": "again", "since": "2026-01-01"}


@dataclass(frozen=True)
class Stand:
    """Where one of the two is, as a number of rows; `planned` may be further."""

    at: int
    ends: int = 0
    planned: int | None = None
    is_at_one: bool = True
    reads_history: bool = False
    since: datetime | None = None
    closed: datetime | None = None

    @property
    def is_settled(self) -> bool:
        return self.planned is None

    def has_closed(self, instant: datetime) -> bool:
        return self.closed is not None and self.closed > instant


@dataclass
class FakeMeetings:
    """Two that count rows. Each comes on when a test says so."""

    orders: Path = Path()
    at: dict[str, Stand] = field(default_factory=lambda: {"orders": Stand(50), "again": Stand(60)})
    asked: int | None = None
    to_finish: int | None = None
    """Where the original is to come and stay."""

    def _name(self, state: Path) -> str:
        return "orders" if state == self.orders else "again"

    def standing(self, state: Path) -> Stand | None:
        stand = self.at[self._name(state)]
        return replace(stand, ends=stand.at)

    def has_read(self, spec: Spec, at: Stand, ends: Any) -> bool:
        return at.at >= ends

    def is_behind(self, spec: Spec, at: Stand, other: Stand) -> bool:
        return at.at <= other.at

    def have_met(self, spec: Spec, at: Stand, other: Stand) -> bool:
        return at.at == other.at

    def is_at_one(self, at: Stand) -> bool:
        return at.is_at_one

    def ask(self, state: Path, other: Stand) -> None:
        assert self._name(state) == "again"
        self.asked = other.at

    def ask_to_finish(self, spec: Spec, state: Path, at: Stand) -> None:
        assert self._name(state) == "orders"
        self.to_finish = at.planned or at.at

    def has_come(self, spec: Spec, state: Path, at: Stand) -> bool:
        assert self._name(state) == "orders"
        return at.at == self.to_finish and at.planned in (None, at.at)

    def release(self, state: Path) -> None:
        if self._name(state) == "orders":
            self.to_finish = None
        else:
            self.asked = None


@dataclass
class Two:
    """The control plane with an original and a copy that run, and one that leads their hand-over."""

    plane: Plane
    meetings: FakeMeetings
    runners: TwoRunners
    has_planned: bool = False
    """Whether the original stops with an epoch planned."""

    def ids(self) -> tuple[str, str]:
        return tuple(str(self.plane.get(f"/pipelines/{name}")["id"]) for name in ("orders", "orders-again"))  # type: ignore[return-value]

    def step(self) -> str:
        return str(self.plane.get("/pipelines/orders-again/hand-over")["step"])

    def look(self) -> str:
        """A control plane that was just started looks once, and its controller acts."""
        context = replace(self.plane.context, clock=lambda: self.plane.now, meetings=self.meetings)
        HandOvers(context).look()
        self.plane.settle()
        return self.step()

    def ends(self, name: str, at: int, planned: int | None = None, *, is_at_one: bool = True) -> None:
        """The driver of one of them obeys, and has come so far."""
        run = [run for run in self.plane.runner.launched if run.name == name][-1]
        stand = Stand(at, planned=planned, is_at_one=is_at_one)
        self.meetings.at["orders" if name == "orders" else "again"] = stand
        self.plane.call("goodbye", {"outcome": "stopped", "error": None}, run)
        self.runners.ended.add((run.job_id, run.generation))
        self.plane.settle()
        assert self.plane.state(name) == "Stopped"

    def ends_run(self, run: Run) -> None:
        self.plane.call("goodbye", {"outcome": "stopped", "error": None}, run)
        self.runners.ended.add((run.job_id, run.generation))
        self.plane.settle()

    def fails(self, name: str, then: str = "Failed", cause: str = "mistake") -> None:
        run = [run for run in self.plane.runner.launched if run.name == name][-1]
        error = {"code": "sql.error", "message": "it is wrong", "hint": "mend it", "cause": cause}
        self.plane.call("goodbye", {"outcome": "failed", "error": error}, run)
        self.runners.ended.add((run.job_id, run.generation))
        self.plane.settle()
        assert self.plane.state(name) == then

    def starts(self, name: str) -> None:
        run = self.plane.runner.launched[-1]
        assert run.name == name
        self.plane.come_up()

    def saved(self) -> None:
        """What was to be saved is saved."""
        until(lambda: len(self.plane.context.in_hand), lambda count: not count)

    def to_the_end_of_the_original(self) -> None:
        assert self.look() == "holding"
        self.ends("orders-again", 70)
        assert self.look() == "passing"
        assert self.look() == "passing", "the original has not come so far"
        self.meetings.at["orders"] = Stand(75)
        assert self.look() == "stopping"
        if self.has_planned:
            self.ends("orders", 78, 80)
            assert self.look() == "finishing"
            self.starts("orders")
            self.meetings.at["orders"] = Stand(80)
            assert self.look() == "stopping"
        self.ends("orders", 80)

    def to_the_meeting(self) -> None:
        self.to_the_end_of_the_original()
        assert self.look() == "meeting"
        assert self.meetings.asked == 80
        self.starts("orders-again")
        assert self.look() == "meeting"

    def to_the_switch(self) -> None:
        self.to_the_meeting()
        self.meetings.at["again"] = Stand(80)
        assert self.look() == "met"
        self.ends("orders-again", 80)
        assert self.look() == "met", "its state is saved"
        self.saved()


class TwoRunners:
    """Notes which of several pipelines' runs live."""

    def __init__(self, plane: Plane) -> None:
        self.plane, self.ended = plane, set[tuple[str, int]]()
        self.launched = plane.runner.launched

    def look(self, run: Run) -> Process:
        known = any((item.job_id, item.generation) == (run.job_id, run.generation) for item in self.launched)
        return Process.ALIVE if known and (run.job_id, run.generation) not in self.ended else Process.GONE


@pytest.fixture
def two(plane: Plane) -> Two:
    meetings, runners = FakeMeetings(), TwoRunners(plane)
    plane.runner.look = runners.look  # type: ignore[method-assign]
    plane.context = replace(plane.context, meetings=meetings)
    plane.http.app.state.context = plane.context  # type: ignore[attr-defined]
    plane.run(settings={"memory": "3g", "start_from": "a=latest"}, secrets={"one": "x"})
    made = plane.http.post(REPROCESS, json={**BODY, "secrets": {"two": "y"}})
    assert made.status_code == 201, made.text
    plane.settle()
    plane.come_up()
    meetings.orders = plane.context.directory.state(plane.get("/pipelines/orders")["id"])
    return Two(plane, meetings, runners)


def asked(two: Two) -> Two:
    answer = two.plane.http.post(HAND_OVER)
    assert answer.status_code == 202, answer.text
    assert two.step() == "waiting"
    return two


def test_the_original_goes_on_with_the_query_and_the_state_of_the_copy_where_it_has_stopped(two: Two) -> None:
    asked(two).to_the_switch()
    plane, before = two.plane, two.plane.get("/pipelines/orders")

    assert two.look() == "switching"

    assert two.meetings.asked is None
    two.saved()
    plane.settle()
    restore = plane.runner.restored[-1]
    hand_over = plane.get("/pipelines/orders-again/hand-over")
    assert (restore.savepoint_id, restore.of_pipeline) == (hand_over["savepoint_id"], two.ids()[1])
    run = plane.runner.launched[-1]
    assert (run.name, run.query, run.secrets) == ("orders", "SELECT 1", {"one": "x", "two": "y"})
    assert run.settings == RunSettings(memory="3g"), "the state has begun to read, and says where itself"
    assert run.upgrade is not None
    assert (run.upgrade.is_fork, run.upgrade.of_history) == (True, "one")
    assert run.upgrade.savepoint_id == restore.save_as
    assert plane.get("/pipelines/orders")["version"] == before["version"] + 1
    assert two.look() == "switching"
    plane.come_up()
    plane.call("heartbeat", {"state": "running", "reports": [report(3, 1)]})
    assert two.look() == "over"
    assert (plane.state("orders"), plane.state("orders-again")) == ("Running", "Stopped")
    assert plane.http.post(HAND_OVER).json()["step"] == "over"
    assert plane.http.request("DELETE", HAND_OVER).json()["code"] == "pipeline.hand_over"


class DiedError(BaseException):
    """Nothing of a process goes on behind the place where it was killed."""


def test_a_control_plane_that_dies_at_every_point_hands_over_once(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    died: list[str] = []
    look = Two.look

    def die_once(point: HandOverPoint, detail: str = "") -> None:
        name = f"{point}:{detail}"
        if name not in died:
            died.append(name)
            raise DiedError

    def look_again(self: Two) -> str:
        try:
            return look(self)
        except DiedError:
            for pipeline_id in self.ids():  # as a control plane does that starts
                take_due(self.plane.context, pipeline_id)
            self.plane.settle()
            return self.look() if died[-1].startswith(HandOverPoint.BEFORE_SWITCH) else self.step()

    monkeypatch.setattr(hand_over_steps, "reach", die_once)
    monkeypatch.setattr(Two, "look", look_again)
    two.has_planned = True
    asked(two).to_the_switch()
    plane = two.plane

    assert two.look() == "switching"
    two.saved()
    plane.settle()
    plane.come_up()
    plane.call("heartbeat", {"state": "running", "reports": [report(3, 1)]})
    assert two.look() == "over"

    steps = ("holding", "passing", "stopping", "finishing", "meeting", "met", "switching", "over")
    assert set(died) == {"before_switch:", *(f"after_step:{step}" for step in steps)}
    assert plane.get("/pipelines/orders")["version"] == 2
    assert [restore.of_pipeline for restore in plane.runner.restored] == [two.ids()[1]]
    assert (plane.state("orders"), plane.state("orders-again")) == ("Running", "Stopped")


def test_a_control_plane_that_dies_once_it_has_given_up_has_both_go_on(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    died: list[str] = []

    def die(point: HandOverPoint, detail: str = "") -> None:
        died.append(f"{point}:{detail}")
        raise DiedError

    asked(two)
    assert two.look() == "holding"
    two.ends("orders-again", 70)
    assert two.look() == "passing"
    two.plane.now += LONGEST_MEETING + timedelta(seconds=1)
    monkeypatch.setattr(hand_over_steps, "reach", die)
    with pytest.raises(DiedError):
        two.look()
    two.plane.settle()

    assert two.look() == "given_up"
    assert died == ["after_step:given_up"]
    two.starts("orders-again")
    assert (two.plane.state("orders"), two.plane.state("orders-again")) == ("Running", "Running")


def finishing(two: Two, *, is_at_one: bool = True) -> Two:
    """The original was stopped between the plan of an epoch and its beginning, or with its table read unequally far."""
    asked(two)
    assert two.look() == "holding"
    two.ends("orders-again", 70)
    assert two.look() == "passing"
    two.meetings.at["orders"] = Stand(75)
    assert two.look() == "stopping"
    two.ends("orders", 80, 84 if is_at_one else None, is_at_one=is_at_one)
    assert two.look() == "finishing"
    assert two.meetings.to_finish == (84 if is_at_one else 80)
    two.starts("orders")
    return two


@pytest.mark.parametrize("is_at_one", [True, False])
def test_an_original_that_stops_with_an_epoch_planned_runs_that_and_stays_there(two: Two, is_at_one: bool) -> None:
    end = 84 if is_at_one else 80
    finishing(two, is_at_one=is_at_one)
    for stand in (Stand(80, planned=84), Stand(end, planned=end)):
        two.meetings.at["orders"] = stand
        assert two.look() == "finishing", "an epoch of it is under way"
    two.meetings.at["orders"] = Stand(end)
    assert two.look() == "stopping"
    two.ends("orders", end, end)  # that it is there was to be said once more when it was told to stop

    assert two.look() == "meeting"

    assert (two.meetings.asked, two.meetings.to_finish) == (end, None)


@pytest.mark.parametrize("step", ["finishing", "stopping"])
@pytest.mark.parametrize("is_taken_back", [True, False])
def test_an_original_that_was_told_where_to_stay_starts_again_to_read_on(
    two: Two, is_taken_back: bool, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    finishing(two)
    two.meetings.at["orders"] = Stand(84)
    if step == "stopping":
        assert two.look() == "stopping"
    run = two.plane.runner.launched[-1]

    if is_taken_back:
        assert two.plane.http.request("DELETE", HAND_OVER).json()["step"] == "apart"
    else:
        monkeypatch.setattr(hand_over_steps, "LONGEST_MEETING", timedelta(0))
        two.plane.now += timedelta(seconds=1)
        assert two.look() == "given_up"
    two.plane.settle()

    assert two.meetings.to_finish is None
    two.ends_run(run)
    assert [item.name for item in two.plane.runner.launched[-2:]].count("orders") == 1
    newest = [item for item in two.plane.runner.launched if item.name == "orders"][-1]
    assert newest.generation == run.generation + 1


def test_neither_pipeline_can_change_during_a_rendezvous_and_both_continue_after_its_cancellation(
    two: Two,
) -> None:
    asked(two)
    assert two.plane.http.patch("/api/v1/pipelines/orders", json={"parallelism": 1}).is_success
    assert two.look() == "holding"
    two.ends("orders-again", 70)
    for name in ("orders", "orders-again"):
        refused = two.plane.http.patch(f"/api/v1/pipelines/{name}", json={"stop": "force"})
        assert (refused.status_code, refused.json()["code"]) == (409, "pipeline.hand_over")
    refused = two.plane.http.delete("/api/v1/pipelines/orders-again")
    assert refused.json()["code"] == "pipeline.hand_over"

    assert two.plane.http.request("DELETE", HAND_OVER).json()["step"] == "apart"

    two.plane.settle()
    two.starts("orders-again")
    assert (two.plane.state("orders"), two.plane.state("orders-again")) == ("Running", "Running")
    assert two.look() == "apart"


@pytest.mark.parametrize("name", ["orders", "orders-again"])
def test_failure_of_one_pipeline_ends_the_hand_over_and_the_other_continues(two: Two, name: str) -> None:
    asked(two)
    assert two.look() == "holding"
    if name == "orders":
        two.ends("orders-again", 70)
        assert two.look() == "passing"
    two.fails(name)

    assert two.look() == "given_up"
    other = {"orders": "orders-again", "orders-again": "orders"}[name]
    two.plane.settle()
    assert two.plane.state(other) in ("Running", "Scheduling")
    why = two.plane.get("/pipelines/orders-again/hand-over")["waits_for"]
    assert why == f"{name} has failed (sql.error: it is wrong; mend it)"
    assert two.plane.http.post(HAND_OVER).json()["code"] == "pipeline.hand_over"


def test_hand_over_is_abandoned_if_both_pipelines_are_paused_for_too_long(two: Two) -> None:
    asked(two)
    assert two.look() == "holding"
    two.ends("orders-again", 70)
    assert two.look() == "passing"
    two.plane.now += LONGEST_MEETING + timedelta(seconds=1)

    assert two.look() == "given_up"
    two.starts("orders-again")


@pytest.mark.parametrize("step", ["meeting", "met"])
@pytest.mark.parametrize("is_taken_back", [True, False])
def test_a_copy_that_was_told_where_to_meet_starts_again_to_read_on(
    two: Two, is_taken_back: bool, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(two).to_the_meeting()
    if step == "met":
        two.meetings.at["again"] = Stand(80)
        assert two.look() == "met"
    run = two.plane.runner.launched[-1]

    if is_taken_back:
        assert two.plane.http.request("DELETE", HAND_OVER).json()["step"] == "apart"
    else:
        monkeypatch.setattr(hand_over_steps, "LONGEST_MEETING", timedelta(0))
        two.plane.now += timedelta(seconds=1)
        assert two.look() == "given_up"
    two.plane.settle()

    assert two.meetings.asked is None
    two.plane.call("goodbye", {"outcome": "stopped", "error": None}, run)
    two.runners.ended.add((run.job_id, run.generation))
    two.plane.settle()
    assert [item.name for item in two.plane.runner.launched[-2:]] == ["orders", "orders-again"]
    assert two.plane.runner.launched[-1].generation == run.generation + 1


def test_a_copy_is_not_told_where_to_meet_once_that_is_taken_back(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    asked(two).to_the_end_of_the_original()

    def take_back(*_: object) -> bool:
        assert two.plane.http.request("DELETE", HAND_OVER).json()["step"] == "apart"
        return True

    monkeypatch.setattr(two.meetings, "is_at_one", take_back)
    assert two.look() == "apart"
    assert two.meetings.asked is None


def test_an_original_that_fails_with_the_other_state_goes_back_to_its_own(two: Two) -> None:
    asked(two).to_the_switch()
    assert two.look() == "switching"
    two.saved()
    two.plane.settle()
    before = two.plane.runner.restored[-1].save_as

    two.plane.save_before(two.plane.runner.launched[-1])
    two.fails("orders", "Scheduling")
    assert two.look() == "given_up"
    restore = two.plane.runner.restored[-1]
    assert (restore.savepoint_id, restore.of_pipeline) == (before, None)
    two.starts("orders")
    assert two.plane.runner.launched[-1].upgrade is None
    assert two.plane.get("/pipelines/orders")["version"] == 3
    assert two.plane.state("orders-again") == "Stopped"


def late(two: Two, *, is_saved: bool = True) -> Two:
    """The original has been given the state of the copy, and its starts are in vain for a quarter of an hour."""
    asked(two).to_the_switch()
    assert two.look() == "switching"
    two.saved()
    two.plane.settle()
    if is_saved:
        two.plane.save_before(two.plane.runner.launched[-1])
    two.fails("orders", "Recovering", "outage")
    assert two.look() == "switching"
    told = "orders is Recovering (sql.error: it is wrong; mend it)"
    assert two.plane.get("/pipelines/orders-again/hand-over")["waits_for"] == told
    two.plane.now += LONGEST_SWITCH + timedelta(seconds=1)
    return two


def shown(two: Two) -> str:
    return str(two.plane.get("/pipelines/orders-again/hand-over")["waits_for"])


def test_an_original_that_comes_to_no_epoch_with_the_other_state_stops_and_goes_back_to_its_own(two: Two) -> None:
    late(two)
    before = two.plane.runner.restored[-1].save_as

    assert two.look() == "switching"
    assert "stopping it to restore its own state" in shown(two)
    assert two.plane.state("orders") == "Stopped"
    assert two.look() == "given_up"

    assert "it returns to its own query and state" in shown(two)
    two.plane.settle()
    restore = two.plane.runner.restored[-1]
    assert (restore.savepoint_id, restore.of_pipeline) == (before, None)
    two.starts("orders")
    assert two.plane.runner.launched[-1].upgrade is None
    assert (two.plane.state("orders"), two.plane.state("orders-again")) == ("Running", "Stopped")
    events = [event["message"] for event in two.plane.get("/pipelines/orders/events")["data"]]
    assert any("abandoned: orders has committed no epoch in 15 minutes" in message for message in events)


@pytest.mark.parametrize("is_saved", [True, False])
def test_an_original_that_may_have_written_with_the_other_state_or_has_no_other_goes_on_with_it(
    two: Two, is_saved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    late(two)
    assert two.look() == "switching"
    if is_saved:
        two.meetings.at["orders"] = Stand(80, planned=90)
        why = "because its sinks may contain an epoch of it"
    else:
        find = savepoints.find
        monkeypatch.setattr(
            savepoints,
            "find",
            lambda *args: replace(find(*args), state="failed", failure_message="no room"),  # type: ignore[type-var]
        )
        why = "because its own could not be saved: no room"

    assert two.look() == "over"

    assert why in shown(two)
    two.starts("orders")
    assert two.plane.get("/pipelines/orders")["version"] == 2


def test_an_original_that_is_up_and_finds_nothing_to_read_has_taken_over(two: Two) -> None:
    asked(two).to_the_switch()
    assert two.look() == "switching"
    two.saved()
    two.plane.settle()
    two.plane.come_up()
    assert two.look() == "switching"
    two.plane.now += LONGEST_SWITCH + timedelta(seconds=1)

    assert two.look() == "over"

    assert shown(two) == "orders runs, but found nothing to read in 15 minutes"
    assert two.plane.state("orders") == "Running"


def test_a_first_epoch_that_comes_while_the_original_stops_to_go_back_is_the_end_of_the_hand_over(two: Two) -> None:
    asked(two).to_the_switch()
    assert two.look() == "switching"
    two.saved()
    two.plane.settle()
    two.plane.now += LONGEST_SWITCH + timedelta(seconds=1)
    assert two.look() == "switching"
    assert two.look() == "switching", "its driver lives"
    two.plane.call("heartbeat", {"state": "running", "reports": [report(3, 1)]})
    two.ends("orders", 84)

    assert two.look() == "over"

    two.starts("orders")
    assert (two.plane.get("/pipelines/orders")["version"], shown(two)) == (2, "None")


def test_obstacle_found_while_both_are_paused_ends_the_hand_over_and_both_continue(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(two).to_the_switch()

    def refuse(*_: object) -> None:
        raise TargetTakenError("another pipeline writes there by now", hint="")

    monkeypatch.setattr(hand_over_steps, "plan_hand_over", refuse)

    assert two.look() == "given_up"
    hand_over = two.plane.get("/pipelines/orders-again/hand-over")
    assert hand_over["waits_for"] == "another pipeline writes there by now"
    two.plane.settle()
    assert {two.plane.state(name) for name in ("orders", "orders-again")} == {"Scheduling"}
    assert two.plane.get("/pipelines/orders")["version"] == 1


def test_a_hand_over_is_rolled_back_to_the_state_before_it_though_the_query_is_the_same(two: Two) -> None:
    asked(two).to_the_switch()
    assert two.look() == "switching"
    two.saved()
    two.plane.settle()
    two.plane.come_up()
    before = two.plane.runner.restored[-1].save_as

    back = two.plane.http.post("/api/v1/pipelines/orders/rollback?dry_run=true", json={})

    assert back.json()["rollback"]["savepoint_id"] == before
    assert back.json()["rollback"]["version"] == 1


def test_hand_over_waits_for_the_backfill_of_the_copy_and_until_both_run(two: Two) -> None:
    asked(two)
    two.meetings.at["again"] = Stand(60, reads_history=True)
    assert two.look() == "waiting"
    assert two.plane.get("/pipelines/orders-again/hand-over")["waits_for"] == "orders-again is reading history"
    two.meetings.at |= {"again": Stand(60), "orders": Stand(50, reads_history=True)}
    assert two.look() == "waiting"
    assert two.plane.get("/pipelines/orders-again/hand-over")["waits_for"] == "orders is reading history"
    two.meetings.at |= {"again": Stand(40), "orders": Stand(50)}
    assert two.look() == "waiting"
    two.plane.deploy("orders-again", query=writing_under("SELECT 2", "again"), force=True)
    assert two.look() == "given_up"


def test_hand_over_waits_for_open_windows_with_rows_from_before_the_copy(two: Two) -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    asked(two)
    two.meetings.at |= {"again": Stand(60, since=noon), "orders": Stand(50, closed=noon)}
    assert two.look() == "waiting"
    why = two.plane.get("/pipelines/orders-again/hand-over")["waits_for"]
    assert why == "orders has open windows with rows before 2026-01-01T12:00:00Z, which orders-again has not read"
    assert two.plane.state("orders-again") == "Running"
    past = noon + timedelta(seconds=1)
    two.meetings.at["orders"] = Stand(50, closed=past)
    assert two.look() == "holding"
    two.ends("orders-again", 70)
    two.meetings.at["again"] = Stand(70, since=noon)
    two.meetings.at["orders"] = Stand(75, closed=noon)
    assert two.look() == "passing"
    assert two.look() == "passing"
    two.meetings.at["orders"] = Stand(75, closed=past)
    assert two.look() == "stopping"


@pytest.mark.parametrize("name", ["orders", "orders-again"])
def test_unavailable_pipeline_is_reported_during_a_rendezvous_and_at_its_end(two: Two, name: str) -> None:
    if name == "orders":
        asked(two)
        assert two.look() == "holding"
        two.ends("orders-again", 70)
        assert two.look() == "passing"
    else:
        asked(two).to_the_meeting()
    two.fails(name, "Recovering", "outage")
    step = two.look()
    assert step in ("passing", "meeting")
    told = f"{name} is {two.plane.state(name)} (sql.error: it is wrong; mend it)"
    assert two.plane.get("/pipelines/orders-again/hand-over")["waits_for"] == told

    two.plane.now += LONGEST_MEETING + timedelta(seconds=1)

    assert two.look() == "given_up"
    why = two.plane.get("/pipelines/orders-again/hand-over")["waits_for"]
    assert why == f"it took longer than 15 minutes; last status: {told}"


def starts_again(two: Two, name: str) -> None:
    """What it had failed in is over, and it runs."""
    two.plane.now += timedelta(minutes=5)
    two.plane.settle()
    two.starts(name)
    assert two.plane.state(name) == "Running"


@pytest.mark.parametrize("step", ["waiting", "passing", "finishing", "meeting", "switching"])
def test_hand_over_stops_waiting_for_an_unavailable_pipeline_once_it_runs(two: Two, step: str) -> None:
    name = {"waiting": "orders-again", "meeting": "orders-again"}.get(step, "orders")
    asked(two)
    if step == "waiting":
        two.meetings.at["again"] = Stand(40)
    elif step in ("meeting", "switching"):
        two.to_the_meeting() if step == "meeting" else two.to_the_switch()
    else:
        assert two.look() == "holding"
        two.ends("orders-again", 70)
        assert two.look() == "passing"
    if step == "finishing":
        two.meetings.at["orders"] = Stand(75)
        assert two.look() == "stopping"
        two.ends("orders", 78, 80)
        assert two.look() == "finishing"
        two.starts("orders")
    if step == "switching":
        assert two.look() == "switching"
        two.saved()
        two.plane.settle()
    two.fails(name, "Recovering", "outage")
    assert two.look() == step
    assert shown(two) == f"{name} is {two.plane.state(name)} (sql.error: it is wrong; mend it)"

    starts_again(two, name)

    assert two.look() == step
    assert shown(two) == ("orders-again is catching up" if step == "waiting" else "None")


def test_hand_over_ignores_a_failure_from_before_the_stop(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    asked(two)
    assert two.look() == "holding"
    two.ends("orders-again", 70)
    assert two.look() == "passing"

    def fail_meanwhile(*_: object) -> bool:
        two.fails("orders", "Recovering", "outage")
        return True

    with monkeypatch.context() as patched:
        patched.setattr(two.meetings, "is_behind", fail_meanwhile)
        assert two.look() == "stopping"
    assert two.plane.state("orders") == "Stopped"
    two.meetings.at["orders"] = Stand(78, planned=80)

    hand_overs = HandOvers(two.plane.context)
    hand_overs.look()
    hand_overs.look()

    assert (two.step(), two.plane.state("orders"), shown(two)) == ("finishing", "Stopped", "None")


def test_an_error_that_is_in_the_way_is_said_until_it_is_over(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    asked(two)

    def refuse(_: Path) -> None:
        raise UnreadableStateError("a note cannot be read", hint="look at the disk")

    with monkeypatch.context() as patched:
        patched.setattr(two.meetings, "standing", refuse)
        assert two.look() == "waiting"
        assert shown(two) == "state.unreadable: a note cannot be read; look at the disk"

    two.meetings.at["again"] = Stand(40)
    assert two.look() == "waiting"
    assert shown(two) == "orders-again is catching up"


def test_hand_over_waits_for_a_stopped_pipeline_and_reports_the_reason_and_the_remedy(two: Two) -> None:
    asked(two)
    two.fails("orders-again")

    assert two.look() == "waiting"
    why = two.plane.get("/pipelines/orders-again/hand-over")["waits_for"]
    assert why == "orders-again is Failed (sql.error: it is wrong; mend it): `arroyo start orders-again` starts it"


def test_a_copy_that_runs_again_after_the_hand_over_can_take_over_once_more(two: Two) -> None:
    asked(two).to_the_switch()
    assert two.look() == "switching"
    two.saved()
    two.plane.settle()
    two.plane.come_up()
    two.plane.call("heartbeat", {"state": "running", "reports": [report(3, 1)]})
    assert two.look() == "over"
    assert two.plane.http.post(HAND_OVER).json()["step"] == "over"

    two.plane.http.patch("/api/v1/pipelines/orders-again", json={"stop": "none"})
    two.plane.settle()
    two.starts("orders-again")
    assert two.plane.http.post(HAND_OVER).json()["step"] == "waiting"
    assert two.look() == "holding"


def test_the_plan_says_where_tables_begin_that_are_not_read_from_their_first_record(two: Two) -> None:
    start = """clicks=offsets:{"0": 4}; orders=earliest"""
    made = two.plane.http.post(REPROCESS, json={"into": "third", "start_from": start})
    assert made.status_code == 201, made.text
    two.plane.settle()
    two.plane.come_up()

    said = two.plane.http.post("/api/v1/pipelines/orders-third/hand-over?dry_run=true").json()["says"]

    assert (
        said[-1] == "windows that are open at the hand-over contain only the rows of clicks that orders-third has read"
    )


def test_rows_that_change_are_handed_over_only_where_somebody_accepts_other_values(two: Two) -> None:
    plane = two.plane
    plane.http.app.state.context = plane.plans_by(changing_sinks=lambda *_: ["totals"])  # type: ignore[attr-defined]
    body = {**BODY, "into": "third", "hand_over": True}
    for path, content in ((HAND_OVER, {}), (f"{HAND_OVER}?dry_run=true", {}), (REPROCESS, body)):
        refused = plane.http.post(path, json=content).json()
        assert refused["code"] == "pipeline.hand_over"
        assert "totals: these tables have updating rows" in refused["detail"]
        assert "--accept-other-values" in refused["hint"]
    assert two.step() == "apart"
    assert len(plane.get("/pipelines")["data"]) == 2

    assert plane.http.post(REPROCESS, json={**BODY, "into": "apart"}).status_code == 201
    accepted = {**body, "accept_other_values": True}
    assert plane.http.post(f"{REPROCESS}?dry_run=true", json=accepted).status_code == 200
    assert plane.http.post(f"{HAND_OVER}?accept_other_values=true").json()["step"] == "waiting"
    assert plane.http.post(HAND_OVER).json()["step"] == "waiting"


def test_impossible_hand_over_is_refused_before_anything_is_stored(two: Two) -> None:
    plane = two.plane
    for path, code in (
        ("/api/v1/pipelines/orders/hand-over", "pipeline.hand_over"),
        ("/api/v1/pipelines/nobody/hand-over", "pipeline.not_found"),
    ):
        assert plane.http.post(path).json()["code"] == code
    refused = ShownUpgrade("x", "", True, False, "counts has no column n", "", "{}")
    plane.http.app.state.context = plane.plans_by(hand_over=lambda *_: (refused, ()))  # type: ignore[attr-defined]
    assert plane.http.post(HAND_OVER).json()["code"] == "pipeline.incompatible"
    plane.http.app.state.context = plane.context  # type: ignore[attr-defined]
    again = plane.http.post(REPROCESS, json={**BODY, "into": "third"})
    assert again.status_code == 201
    plane.settle()
    plane.come_up()
    asked(two)
    answer = plane.http.post("/api/v1/pipelines/orders-third/hand-over").json()
    assert answer["code"] == "pipeline.hand_over"
    assert "'orders-again' has a pending hand-over" in str(answer)
    fourth = plane.http.post(REPROCESS, json={**BODY, "into": "fourth", "hand_over": True})
    assert fourth.json()["code"] == "pipeline.hand_over"
    plane.http.request("DELETE", HAND_OVER)
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"})
    answer = plane.http.post(HAND_OVER).json()
    assert answer["code"] == "pipeline.hand_over"
    assert two.step() == "apart"


def test_a_dry_run_says_what_it_comes_to_and_one_request_can_ask_for_both(two: Two) -> None:
    said = two.plane.http.post(f"{HAND_OVER}?dry_run=true").json()
    assert said["step"] == "apart"
    assert said["says"][3] == "rows that either pipeline has written are kept"
    assert two.step() == "apart"
    body = {**BODY, "into": "third", "hand_over": True}
    told = two.plane.http.post(f"{REPROCESS}?dry_run=true", json=body).json()
    assert told["stays"][0].startswith("once orders-third has caught up, both stop")
    assert two.plane.http.post(REPROCESS, json=body).status_code == 201
    assert two.plane.get("/pipelines/orders-third/hand-over")["step"] == "waiting"


def test_the_verb_asks_takes_back_and_shows(server: StandInServer, capsys: pytest.CaptureFixture[str]) -> None:
    names = {"pipeline": "orders", "copy_name": "orders-again"}
    about = {**names, "step": "waiting", "waits_for": "it reads", "says": ["a"]}
    server.answer = json.dumps(about).encode()
    command = ["reprocess", "orders", "--into", "again", "--url", server.url, "--token", TOKEN]
    path = "/api/v1/pipelines/orders-again/hand-over"

    for option, method in (("--hand-over", "POST"), ("--stay-apart", "DELETE"), ("--show-hand-over", "GET")):
        assert main([*command, option]) == 0
        assert server.requests[-1][:2] == (method, path)
        assert capsys.readouterr().out.splitlines() == ["orders-again and orders: waiting (it reads)", "  a"]
    sent = len(server.requests)
    for option in ("--stay-apart", "--show-hand-over"):
        assert main([*command, "--from", "2026-01-01", option]) == 2
        assert "leave out --from and --start-from" in capsys.readouterr().err
    assert len(server.requests) == sent
    server.answer = b'{"pipeline": "orders", "name": "orders-again", "writes": [], "stays": []}'
    assert main([*command, "--from", "1", "--hand-over", "--dry-run"]) == 0
    assert json.loads(server.requests[-1][3])["hand_over"] is True
    assert main([*command, "--from", "1", "--hand-over", "--accept-other-values", "--dry-run"]) == 0
    assert json.loads(server.requests[-1][3])["accept_other_values"] is True
    server.answer = json.dumps(about).encode()
    assert main([*command, "--hand-over", "--accept-other-values", "--dry-run"]) == 0
    assert server.requests[-1][1] == f"{path}?dry_run=true&accept_other_values=true"


def test_the_prefix_of_a_script_can_be_taken_away_where_it_was_put_behind_it() -> None:
    assert without_prefix(writing_under("SELECT 1", "again")) == "SELECT 1"
    assert without_prefix("SET sink_prefix = 'again'; SELECT 1") is None
