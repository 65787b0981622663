"""A control plane of a new version finds drivers that an earlier one has started."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import update

from engine.jobs.processes import left_by_drivers
from engine.store.jobs.runs import RUNS
from tests.api.conftest import Plane, report


def _upgrade(plane: Plane) -> None:
    """Nobody has asked the run so far which version it speaks, as after a migration."""
    with plane.context.database.writing() as connection:
        connection.execute(update(RUNS).values(wire=None))


def _events(plane: Plane) -> list[tuple[str, str | None]]:
    return [(event["level"], event["code"]) for event in plane.get("/pipelines/orders/events")["data"]]


def _beat(plane: Plane, **more: Any) -> dict[str, Any]:
    return plane.call("heartbeat", {"state": "running", **more})


def test_a_driver_of_the_version_before_is_adopted_and_works_on(plane: Plane) -> None:
    plane.run()
    _upgrade(plane)

    answers = [_beat(plane, reports=[report(1, 30)]), _beat(plane, reports=[report(2, 31)])]

    assert [answer["orders"] for answer in answers] == [[], []]
    assert (plane.job()["state"], plane.job()["run_id"], plane.job()["epoch"]) == ("Running", 1, 2)
    assert _events(plane).count(("info", "run.adopted")) == 1


def test_a_driver_that_is_too_old_stops_at_an_epoch_and_starts_anew(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane.run()
    _upgrade(plane)
    monkeypatch.setattr(left_by_drivers, "OLDEST_WIRE", 2)

    _beat(plane, reports=[report(1, 30)])
    answer = _beat(plane)
    plane.end("stopped")
    plane.come_up()

    assert answer["orders"] == [{"kind": "stop", "mode": "checkpoint"}]
    assert (plane.job()["state"], plane.job()["run_id"], plane.job()["restarts_total"]) == ("Running", 2, 0)
    assert _events(plane).count(("warn", "run.too_old")) == 1
    assert ("info", "run.adopted") not in _events(plane)


def test_a_driver_that_has_said_what_it_speaks_can_be_too_old_for_a_later_control_plane(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane.run()
    plane.context.last_reports.forget(plane.job()["id"])  # a later control plane, which it has not called yet
    monkeypatch.setattr(left_by_drivers, "OLDEST_WIRE", 2)

    answers = [_beat(plane), _beat(plane), _beat(plane)]
    plane.end("stopped")
    plane.come_up()

    assert [answer["orders"] for answer in answers[1:]] == [[{"kind": "stop", "mode": "checkpoint"}]] * 2
    assert (plane.job()["state"], plane.job()["run_id"]) == ("Running", 2)
    assert _events(plane).count(("warn", "run.too_old")) == 1


def test_events_of_an_adoption_name_the_control_plane_as_requester(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane.run()
    _upgrade(plane)
    monkeypatch.setattr(left_by_drivers, "OLDEST_WIRE", 2)
    newest = plane.get("/pipelines/orders/events?limit=1")["data"][0]["id"]

    _beat(plane)
    _beat(plane)
    plane.end("stopped")
    plane.come_up()

    events = plane.get(f"/pipelines/orders/events?after={newest}")["data"]
    assert (events[0]["code"], events[-1]["message"]) == ("run.too_old", "Scheduling to Running")
    assert {event["who"] for event in events} == {"control plane"}


def test_a_driver_that_is_too_old_and_is_to_stop_is_not_started_again(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane.run()
    _upgrade(plane)
    monkeypatch.setattr(left_by_drivers, "OLDEST_WIRE", 2)
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"})

    _beat(plane)
    plane.end("stopped")

    assert plane.state() == "Stopped"


def test_a_driver_that_is_newer_works_on_too(plane: Plane) -> None:
    plane.run()
    _upgrade(plane)

    answer = _beat(plane, wire=left_by_drivers.WIRE + 1, tea="green")

    assert (answer["orders"], plane.state()) == ([], "Running")


def test_a_run_that_has_been_replaced_is_not_adopted(plane: Plane) -> None:
    plane.run()
    first = plane.runner.launched[-1]
    plane.end(None)
    plane.let_pass(5)
    _upgrade(plane)

    assert plane.call("heartbeat", {"state": "running"}, first)["superseded"]
    assert ("info", "run.adopted") not in _events(plane)


def test_a_restart_of_the_same_version_leaves_no_word(plane: Plane) -> None:
    plane.run()

    _beat(plane, wire=left_by_drivers.WIRE)

    assert ("info", "run.adopted") not in _events(plane)


def test_a_hello_that_was_lost_makes_no_driver_of_another_version(plane: Plane) -> None:
    plane.deploy()

    _beat(plane, wire=left_by_drivers.WIRE)

    assert (plane.state(), ("info", "run.adopted") in _events(plane)) == ("Running", False)
