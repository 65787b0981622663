"""Tasks that move a pipeline to another control plane: in one place or the other, however often they are tried."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from airflow_provider_arroyo.errors import (
    ArroyoError,
    BadConnectionError,
    DetachedError,
    MoveError,
    RefusedError,
    SecretError,
)
from airflow_provider_arroyo.operators.move import MoveOperator
from airflow_provider_arroyo.testing.control_plane import FakeControlPlane, problem
from airflow_provider_arroyo.testing.partitions import KEY

from .tasks import Run


@pytest.fixture
def there() -> Iterator[FakeControlPlane]:
    """The control plane that a pipeline goes to; it knows the pipeline by the id that it has here."""
    with FakeControlPlane() as fake, fake.as_connection("arroyo_there"):
        fake.add("clicks")
        yield fake


def moving(**options: Any) -> MoveOperator:
    asked = {"pipeline": "clicks", "to_conn_id": "arroyo_there", "via": "s3://handover/clicks", **options}
    return MoveOperator(task_id="move", **asked)


def asked(plane: FakeControlPlane) -> list[str]:
    """What a control plane was asked to change."""
    return [
        f"{request.method} {request.path.removeprefix('/api/v1')}"
        for request in plane.requests
        if request.method != "GET" and not request.query
    ]


def test_a_pipeline_is_released_here_before_it_starts_there(
    plane: FakeControlPlane, there: FakeControlPlane, airflow_run: Run
) -> None:
    plane.add("clicks")

    result = airflow_run.execute(moving())

    assert result == {"pipeline_id": "pl_1", "name": "clicks", "to": there.url, "state": "Running"}
    departure = "POST /pipelines/pl_1/departure"
    exports = [f"{departure}/export"] * 2
    assert asked(plane) == [departure, *exports, f"{departure}/release", f"{departure}/over"]
    assert asked(there) == ["POST /arrivals/check", "POST /arrivals", "POST /arrivals", "POST /arrivals/pl_1/start"]
    (start,) = there.matching_requests("POST", "/start")
    assert start.body == {"key": KEY}
    assert plane.matching_requests("POST", "/departure$")[-1].body == {"to": there.url, "place": "s3://handover/clicks"}


def test_secrets_are_given_there_and_are_in_no_result(
    plane: FakeControlPlane, there: FakeControlPlane, airflow_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane.add("clicks")
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA", json.dumps({"conn_type": "kafka", "password": "hidden"}))

    result = airflow_run.execute(moving(secrets={"password": "conn:kafka.password"}))

    for request in there.matching_requests("POST", "/arrivals(/check)?$"):
        assert request.body["secrets"] == {"password": "hidden"}
    assert "hidden" not in json.dumps(result) + json.dumps(airflow_run.pushed)


@pytest.mark.parametrize("pause", [1, 2])
def test_a_retry_goes_on_with_the_step_it_had_come_to(
    plane: FakeControlPlane, there: FakeControlPlane, airflow_run: Run, pause: int
) -> None:
    plane.add("clicks")
    task = moving()
    airflow_run.at_pause[pause] = task.on_kill
    with pytest.raises(DetachedError):
        airflow_run.execute(task)
    step = plane.moves.departures["pl_1"]["step"]
    assert step == ("leaving", "exported")[pause - 1]

    assert airflow_run.execute(moving())["state"] == "Running"

    assert plane.moves.departures["pl_1"]["step"] == "over"
    assert len(plane.matching_requests("POST", "/departure$")) == 2, "asked once whether it can be, and once to begin"


def test_a_task_that_is_cleared_once_all_is_over_does_nothing(
    plane: FakeControlPlane, there: FakeControlPlane, airflow_run: Run
) -> None:
    plane.add("clicks")
    first = airflow_run.execute(moving())
    before = asked(plane) + asked(there)

    assert airflow_run.execute(moving()) == first
    assert asked(plane) + asked(there) == before


def test_a_pipeline_that_would_not_be_accepted_is_refused_before_it_stops(
    plane: FakeControlPlane, there: FakeControlPlane, airflow_run: Run
) -> None:
    plane.add("clicks")
    there.refusals["POST", "arrivals/check"] = problem(409, "pipeline.exists", "there is one already")

    with pytest.raises(RefusedError, match=r"pipeline\.exists"):
        airflow_run.execute(moving())

    assert asked(plane) == []


@pytest.mark.parametrize(
    ("end", "kind", "code", "sent_back"),
    [
        ("here", "export", "pipeline.move", False),
        ("there", "import", "pipeline.move", True),
        ("there", "refusal", "pipeline.target_taken", True),
    ],
)
def test_a_move_that_fails_before_the_release_is_undone(
    plane: FakeControlPlane,
    there: FakeControlPlane,
    airflow_run: Run,
    end: str,
    kind: str,
    code: str,
    sent_back: bool,
) -> None:
    pipeline = plane.add("clicks")
    if kind == "refusal":
        there.refusals["POST", "arrivals$"] = problem(409, code, "its target is taken")
    else:
        (plane if end == "here" else there).moves.failures[kind] = "the disk is full"

    with pytest.raises(ArroyoError) as refusal:
        airflow_run.execute(moving())

    assert refusal.value.code == code
    assert (pipeline.stop, pipeline.states[0]) == ("none", "Running")
    assert plane.moves.departures == there.moves.arrivals == {}
    assert ("DELETE /arrivals/pl_1" in asked(there)) == sent_back


def test_a_secret_that_is_gone_at_a_retry_takes_it_back(
    plane: FakeControlPlane, there: FakeControlPlane, airflow_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = plane.add("clicks")
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA", json.dumps({"conn_type": "kafka", "password": "hidden"}))
    task = moving(secrets={"password": "conn:kafka.password"})
    airflow_run.at_pause[1] = task.on_kill
    with pytest.raises(DetachedError):
        airflow_run.execute(task)
    monkeypatch.delenv("AIRFLOW_CONN_KAFKA")

    with pytest.raises(SecretError):
        airflow_run.execute(moving(secrets={"password": "conn:kafka.password"}))

    assert (pipeline.stop, pipeline.states[0], plane.moves.departures) == ("none", "Running", {})


def test_a_control_plane_that_is_busy_is_asked_again(
    plane: FakeControlPlane, there: FakeControlPlane, airflow_run: Run
) -> None:
    plane.add("clicks")
    plane.refusals["POST", "export"] = problem(409, "pipeline.busy", "it has not stopped yet")
    airflow_run.at_pause[1] = plane.refusals.clear

    assert airflow_run.execute(moving())["state"] == "Running"


def test_a_pipeline_that_failed_instead_of_stopping_stays(
    plane: FakeControlPlane, there: FakeControlPlane, airflow_run: Run
) -> None:
    pipeline = plane.add("clicks")
    plane.refusals["POST", "export"] = problem(409, "pipeline.busy", "it has not stopped yet")
    airflow_run.at_pause[1] = lambda: pipeline.become("Failed")

    with pytest.raises(MoveError, match="Failed and not stopped"):
        airflow_run.execute(moving())

    assert plane.moves.departures == {}


def test_a_released_pipeline_is_never_taken_back(
    plane: FakeControlPlane, there: FakeControlPlane, airflow_run: Run
) -> None:
    plane.add("clicks")
    there.refusals["POST", "/start"] = problem(409, "pipeline.moving", "it may still be running")

    with pytest.raises(RefusedError, match=r"pipeline\.moving"):
        airflow_run.execute(moving())

    assert plane.moves.departures["pl_1"]["step"] == "released"
    assert not plane.matching_requests("DELETE")


def test_a_pipeline_that_another_task_has_released_meanwhile_is_not_taken_back(
    plane: FakeControlPlane, there: FakeControlPlane, airflow_run: Run
) -> None:
    plane.add("clicks")

    def release() -> None:
        plane.moves.departures["pl_1"] |= {"step": "released", "key": KEY}
        there.refusals["POST", "arrivals$"] = problem(409, "pipeline.exists", "it is there already")

    airflow_run.at_pause[2] = release

    with pytest.raises(RefusedError, match=r"pipeline\.exists"):
        airflow_run.execute(moving())

    assert plane.moves.departures["pl_1"]["step"] == "released"
    assert not plane.matching_requests("DELETE") + there.matching_requests("DELETE")


def test_a_move_elsewhere_is_not_touched(plane: FakeControlPlane, there: FakeControlPlane, airflow_run: Run) -> None:
    pipeline = plane.add("clicks")
    passport = {"pipeline_id": pipeline.id, "name": pipeline.name}
    other = {"step": "exported", "to": "http://elsewhere:5115", "place": "s3://b", "passport": passport, "key": None}
    plane.moves.departures[pipeline.id] = other | {"task": None}

    with pytest.raises(MoveError, match="is being moved to http://elsewhere:5115"):
        airflow_run.execute(moving())

    assert asked(plane) == asked(there) == []


def test_an_embedded_control_plane_is_no_place_to_go_to(
    plane: FakeControlPlane, airflow_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane.add("clicks")
    monkeypatch.setenv("AIRFLOW_CONN_ARROYO_THERE", json.dumps({"conn_type": "arroyo", "extra": {"embedded": True}}))

    with pytest.raises(BadConnectionError, match="whose address changes"):
        airflow_run.execute(moving())

    assert plane.requests == []
