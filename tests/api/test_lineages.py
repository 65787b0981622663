"""Progress belongs to a lineage: nothing that a dead state has reached opens a gate of the one that follows it."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from engine.jobs.decisions.observe import Maintenance
from engine.jobs.decisions.status import Failure
from engine.jobs.disk import DataDirectory
from tests.api.conftest import T0, Plane, report

PATH = "/pipelines/orders/watermark"
PAST = f"{PATH}?past={(T0 + timedelta(minutes=20)).isoformat().replace('+', '%2B')}"


def reach(plane: Plane, epoch: int, minutes: int, **fields: Any) -> None:
    plane.call("heartbeat", {"state": "running", "reports": [{**report(epoch, minutes), **fields}]})


def gate(plane: Plane) -> tuple[bool, int | None, int | None]:
    watermark = plane.get(PAST)
    job, shown, [listed] = plane.job(), plane.get("/pipelines/orders"), plane.get("/pipelines")["data"]
    assert (job["sinks"], job["watermark"]) == (watermark["sinks"], watermark["watermark"]), "show says the same"
    until = watermark["sinks"].get("counts", {}).get("complete_until")
    assert (shown["complete_until"], listed["complete_until"]) == (until, until), "and so does list"
    is_at_rest = listed["state"] in ("Stopped", "Finished", "Failed")
    assert (listed["lag_micros"] is None) == (is_at_rest or watermark["watermark"] is None)
    return watermark["passed"], watermark["watermark"], watermark["epoch"]


def epochs(plane: Plane) -> list[int]:
    checkpoints = plane.get(f"/pipelines/orders/jobs/{plane.job()['id']}/checkpoints")["data"]
    return [checkpoint["epoch"] for checkpoint in checkpoints]


def write_lineage(plane: Plane, lineage: str, *parents: tuple[str, int]) -> None:
    state = DataDirectory(plane.context.directory.root).state(plane.job()["pipeline_id"])
    state.mkdir(parents=True, exist_ok=True)
    (state / "lineage.json").write_text(json.dumps({"lineage": lineage, "parents": parents}))


NOTHING = (False, None, None)


def test_a_forced_version_opens_no_gate_on_what_the_one_before_has_reached(plane: Plane) -> None:
    plane.run()
    reach(plane, 25, 30)
    assert gate(plane)[0]

    plane.http.put("/api/v1/pipelines/by-name/orders", json={"query": "SELECT 2", "force": True})
    assert gate(plane) == NOTHING, "asked for, and the version before still runs"
    plane.settle()
    reach(plane, 26, 31)
    assert gate(plane) == NOTHING, "the version before comes to its end"
    plane.end()
    assert gate(plane) == NOTHING, "launched"
    plane.come_up()
    assert gate(plane) == NOTHING, "up"
    reach(plane, 0, 5)

    assert gate(plane)[::2] == (False, 0)
    assert plane.job()["epoch"] == 0
    assert epochs(plane) == [0]
    reach(plane, 1, 20)
    assert gate(plane)[::2] == (True, 1)


def state_events(plane: Plane) -> list[tuple[str, str, str]]:
    events = plane.get("/pipelines/orders/events?severity=warn")["data"]
    return [(event["code"], event["who"], event["message"]) for event in events if event["code"].startswith("state.")]


def test_an_event_says_of_which_version_and_up_to_where_the_state_is_given_up(plane: Plane) -> None:
    plane.run()
    reach(plane, 25, 30)
    plane.http.put("/api/v1/pipelines/by-name/orders", json={"query": "SELECT 2", "force": True})
    plane.settle()
    assert state_events(plane) == [], "the run that has it is not over"

    plane.end()

    message = "state of version 1 discarded (up to epoch 25)"
    assert state_events(plane) == [("state.given_up", "admin", message)]


def test_an_event_says_to_which_savepoint_a_state_goes_back(plane: Plane) -> None:
    plane.run()
    reach(plane, 7, 12)
    savepoint = plane.http.post("/api/v1/pipelines/orders/savepoints").json()["id"]
    plane.settle()
    reach(plane, 9, 20)
    body = {"savepoint_id": savepoint, "allow_replay": True}
    plane.http.post("/api/v1/pipelines/orders/restore", json=body)
    plane.settle()
    plane.end()

    [(code, who, message)] = state_events(plane)

    assert (code, who) == ("state.taken_back", "admin")
    assert message == f"restored savepoint {savepoint} (epoch 7; was at 9)"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "orders", {"checkpoint_interval_micros": 5_000_000}),
        ("PUT", "by-name/orders", {"query": "SELECT 2", "settings": {"memory": "3g"}}),
    ],
)
def test_a_version_on_top_of_a_forced_one_that_has_not_run_yet_gives_up_the_state_in_its_place(
    plane: Plane, method: str, path: str, body: dict[str, Any]
) -> None:
    plane.run()
    reach(plane, 25, 30)
    plane.deploy(query="SELECT 2", force=True)

    assert plane.http.request(method, f"/api/v1/pipelines/{path}", json=body).json()["version"] == 3
    assert gate(plane) == NOTHING, "asked for, and the first version still runs"
    plane.settle()
    plane.end()
    assert (plane.runner.launched[-1].query, plane.runner.launched[-1].force) == ("SELECT 2", True)
    plane.come_up()
    reach(plane, 0, 5)
    assert gate(plane)[::2] == (False, 0)

    plane.http.patch("/api/v1/pipelines/orders", json={"checkpoint_interval_micros": 6_000_000})
    plane.settle()
    plane.end()
    assert (plane.job()["run_id"], plane.runner.launched[-1].force) == (3, False)


def test_a_forced_version_over_a_finished_one_has_not_finished(plane: Plane) -> None:
    plane.run()
    reach(plane, 25, 30)
    plane.end("finished")

    plane.http.put("/api/v1/pipelines/by-name/orders", json={"query": "SELECT 2", "force": True})

    assert gate(plane) == NOTHING


def test_report_of_a_replaced_run_is_ignored(plane: Plane) -> None:
    plane.run()
    reach(plane, 25, 30)
    first = plane.runner.launched[-1]
    plane.deploy(query="SELECT 2", force=True)
    plane.end()

    plane.call("heartbeat", {"state": "running", "reports": [report(26, 40)]}, first)
    plane.call("goodbye", {"outcome": "stopped", "reports": [report(27, 40)]}, first)

    assert gate(plane) == NOTHING
    assert epochs(plane) == []


def test_a_restore_opens_no_gate_on_what_came_after_the_savepoint(plane: Plane) -> None:
    plane.run()
    savepoint = plane.http.post("/api/v1/pipelines/orders/savepoints").json()
    reach(plane, 25, 30)

    body = {"savepoint_id": savepoint["id"], "allow_replay": True}
    assert plane.http.post("/api/v1/pipelines/orders/restore", json=body).is_success
    assert gate(plane) == NOTHING, "asked for, and the job still runs"
    plane.settle()
    reach(plane, 26, 31)
    assert gate(plane) == NOTHING, "the run before comes to its end"
    plane.end()
    assert gate(plane) == NOTHING, "restored and launched"
    plane.come_up()
    reach(plane, 8, 5)

    assert gate(plane)[::2] == (False, 8)
    assert epochs(plane) == [8]


def test_a_restore_that_fails_half_way_leaves_no_progress(plane: Plane) -> None:
    plane.run()
    savepoint = plane.http.post("/api/v1/pipelines/orders/savepoints").json()
    reach(plane, 25, 30)
    begin = plane.runner.begin_maintenance

    def fail(pipeline_id: str, task: Any) -> None:
        begin(pipeline_id, task)
        plane.runner.work[pipeline_id] = Maintenance(task, "failed", Failure("state.damaged", "no"))

    plane.runner.begin_maintenance = fail  # type: ignore[method-assign]
    plane.http.post("/api/v1/pipelines/orders/restore", json={"savepoint_id": savepoint["id"], "allow_replay": True})
    plane.settle()
    plane.end()

    assert plane.state() == "Failed"
    assert gate(plane) == NOTHING


def test_a_restore_that_hangs_is_ended_and_tried_again_some_times(plane: Plane) -> None:
    plane.run()
    savepoint = plane.http.post("/api/v1/pipelines/orders/savepoints").json()
    reach(plane, 25, 30)
    begin, begun = plane.runner.begin_maintenance, []

    def hang(pipeline_id: str, task: Any) -> None:
        begin(pipeline_id, task)
        begun.append(task)
        plane.runner.work[pipeline_id] = Maintenance(task, "running", stillness=timedelta(minutes=6))

    plane.runner.begin_maintenance = hang  # type: ignore[method-assign]
    plane.http.post("/api/v1/pipelines/orders/restore", json={"savepoint_id": savepoint["id"], "allow_replay": True})
    plane.settle()
    plane.end()
    assert (plane.state(), plane.job()["failure_code"]) == ("Recovering", "run.maintenance_stuck")
    plane.let_pass(60)

    assert (plane.state(), plane.job()["failure_cause"]) == ("Failed", "unknown")
    assert len(begun) == 3
    assert gate(plane) == NOTHING


def test_a_state_that_somebody_has_replaced_starts_without_progress(plane: Plane) -> None:
    plane.run()
    reach(plane, 25, 30, lineage="a")
    write_lineage(plane, "b")

    plane.end(None)
    plane.let_pass(5)

    assert len(plane.runner.launched) == 2
    assert gate(plane) == NOTHING
    reach(plane, 0, 5, lineage="b")
    assert gate(plane)[::2] == (False, 0)


def test_a_state_that_was_removed_starts_without_progress(plane: Plane) -> None:
    plane.run()
    reach(plane, 25, 30, lineage="a")

    plane.end(None)
    plane.let_pass(5)

    assert gate(plane) == NOTHING


def test_a_rescale_goes_on_with_what_was_reached(plane: Plane) -> None:
    plane.run()
    reach(plane, 25, 30, lineage="a")
    write_lineage(plane, "b", ("a", 25))

    plane.end(None)
    plane.let_pass(5)

    assert gate(plane)[::2] == (True, 25)
    reach(plane, 27, 31, lineage="b")
    assert epochs(plane) == [27, 25]


def test_a_history_that_left_off_before_what_was_reached_starts_without_progress(plane: Plane) -> None:
    plane.run()
    reach(plane, 25, 30, lineage="a")
    write_lineage(plane, "b", ("a", 24))

    plane.end(None)
    plane.let_pass(5)

    assert gate(plane) == NOTHING


def test_a_report_of_another_history_replaces_what_was_reached(plane: Plane) -> None:
    """A driver finds at its start that its state must begin anew; the control plane learns of it with the report."""
    plane.run()
    reach(plane, 24, 29, lineage="a")
    reach(plane, 25, 30, lineage="a")

    reach(plane, 0, 5, lineage="b", watermark=None)

    assert gate(plane) == (False, None, 0)
    assert epochs(plane) == [0]


def commit(plane: Plane, epoch: int) -> None:
    """The driver commits an epoch, and nobody hears of it."""
    commits = DataDirectory(plane.context.directory.root).state(plane.job()["pipeline_id"]) / "checkpoint" / "commits"
    commits.mkdir(parents=True, exist_ok=True)
    (commits / str(epoch)).write_text("v1\n{}")


def test_the_last_epoch_of_a_driver_that_was_killed_is_read_from_its_state(plane: Plane) -> None:
    plane.run()
    reach(plane, 25, 10, lineage="a")
    write_lineage(plane, "a")
    commit(plane, 26)
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "force"})
    plane.settle()

    assert plane.state() == "Stopped"
    assert plane.job()["epoch"] == 26
    passed, watermark, _ = gate(plane)
    assert not passed
    assert watermark == report(25, 10)["watermark"], "what the epoch has shown is not known"


@pytest.mark.parametrize(("lineage", "epoch"), [("b", 26), ("a", 24)])
def test_an_epoch_of_another_history_or_an_earlier_one_says_nothing(plane: Plane, lineage: str, epoch: int) -> None:
    plane.run()
    reach(plane, 25, 10, lineage="a")
    write_lineage(plane, lineage)
    commit(plane, epoch)
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "force"})
    plane.settle()

    assert (plane.state(), plane.job()["epoch"]) == ("Stopped", 25)
