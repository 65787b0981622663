"""What a request would do is said after all its checks, and nothing is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from engine.api.answers import Effects
from engine.cli.remote import warn_of_remarks
from engine.jobs.decisions.spec import ShownUpgrade
from tests.api.conftest import Plane, report
from tests.api.test_savepoints import take

BASE = "/api/v1/pipelines"


def dry(plane: Plane, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The answer to a dry run, after which everything must be as it was."""
    before = plane.get("/pipelines")
    answer = plane.http.request(method, f"{BASE}{path}{'&' if '?' in path else '?'}dry_run=true", json=body)
    plane.settle()
    assert plane.get("/pipelines") == before
    told: dict[str, Any] = answer.json()
    assert answer.status_code >= 400 or set(told) == set(Effects.model_fields)
    return told


def at_epoch_nine(plane: Plane) -> dict[str, Any]:
    """A savepoint of epoch 7, of a job that started in three seconds and is at epoch 9."""
    plane.deploy()
    plane.let_pass(3)
    plane.come_up()
    plane.call("heartbeat", {"state": "running", "reports": [report(7, 5)]})
    savepoint = take(plane)
    plane.call("heartbeat", {"state": "running", "reports": [report(9, 9)]})
    return savepoint


def test_a_stop_keeps_the_state(plane: Plane) -> None:
    at_epoch_nine(plane)

    told = dry(plane, "PATCH", "/orders", {"stop": "checkpoint"})

    assert (told["stops"], told["starts"], told["pause_micros"]) == (True, False, None)
    assert told["kept"] == ["the state up to epoch 9", "1 savepoint"]
    assert (told["lost"], told["repeated"], told["voided"]) == ([], [], [])


def test_a_stop_at_once_repeats_the_epoch_in_hand(plane: Plane) -> None:
    at_epoch_nine(plane)

    assert dry(plane, "PATCH", "/orders", {"stop": "force"})["repeated"] == ["the epoch in hand, at the next start"]


def test_a_rescale_stops_for_as_long_as_past_starts_took(plane: Plane) -> None:
    at_epoch_nine(plane)

    told = dry(plane, "PATCH", "/orders", {"parallelism": 8})

    assert (told["stops"], told["starts"], told["pause_micros"]) == (True, True, 3_001_000)


def test_dry_run_of_an_unchanged_pipeline_stops_nothing(plane: Plane) -> None:
    at_epoch_nine(plane)

    assert dry(plane, "PATCH", "/orders", {"parallelism": 1})["stops"] is False


def test_a_restore_names_the_epochs_that_it_repeats(plane: Plane) -> None:
    savepoint = at_epoch_nine(plane)

    told = dry(plane, "POST", "/orders/restore", {"savepoint_id": savepoint["id"], "allow_replay": True})

    assert (told["stops"], told["starts"]) == (True, True)
    assert told["repeated"] == ["epochs 8 to 9; sinks that cannot take them back write them again"]


def test_a_savepoint_stops_nothing(plane: Plane) -> None:
    at_epoch_nine(plane)

    told = dry(plane, "POST", "/orders/savepoints")

    assert (told["stops"], told["starts"]) == (False, False)
    assert told["kept"] == ["the state up to epoch 9", "1 savepoint", "a savepoint of epoch 9 or a later one"]
    assert len(plane.get("/pipelines/orders/savepoints")["data"]) == 1


def test_a_savepoint_with_a_stop_says_both(plane: Plane) -> None:
    at_epoch_nine(plane)

    told = dry(plane, "POST", "/orders/savepoints", {"stop": "checkpoint"})

    assert (told["stops"], told["starts"], told["pause_micros"]) == (True, False, None)
    assert told["kept"][-1] == "a savepoint of the last epoch"
    assert dry(plane, "POST", "/orders/savepoints", {"stop": "force"})["repeated"] == [
        "the epoch in hand, at the next start"
    ]
    assert plane.state() == "Running"


def test_a_savepoint_is_checked_as_if_it_were_taken(plane: Plane) -> None:
    savepoint = at_epoch_nine(plane)
    restore = {"savepoint_id": savepoint["id"], "allow_replay": True}
    plane.http.post(f"{BASE}/orders/restore", json=restore)
    plane.settle()

    assert dry(plane, "POST", "/orders/savepoints", {"stop": "checkpoint"})["code"] == "pipeline.busy"
    assert dry(plane, "POST", "/nothing/savepoints")["code"] == "pipeline.not_found"


def test_a_deployment_with_force_gives_up_the_state(plane: Plane) -> None:
    at_epoch_nine(plane)

    told = dry(plane, "PUT", "/by-name/orders", {"query": "SELECT 2", "force": True})

    assert (told["stops"], told["starts"]) == (True, True)
    assert told["kept"] == ["1 savepoint"]
    assert told["lost"] == ["the state up to epoch 9 of version 1; a copy of it is kept aside"]
    assert told["repeated"] == ["all input that the sources still have, and its output"]


def test_a_first_deployment_only_starts(plane: Plane) -> None:
    told = dry(plane, "PUT", "/by-name/orders", {"query": "SELECT 1"})

    assert (told["stops"], told["starts"], told["kept"]) == (False, True, [])


def test_a_deletion_loses_state_and_savepoints(plane: Plane) -> None:
    at_epoch_nine(plane)
    plane.http.patch(f"{BASE}/orders", json={"stop": "force"})
    plane.settle()

    told = dry(plane, "DELETE", "/orders?with_savepoints=true")

    assert told["lost"] == ["the state up to epoch 9", "1 savepoint", "the logs and versions"]
    assert told["kept"] == ["the output"]


@pytest.mark.parametrize(
    ("method", "path", "body", "code"),
    [
        ("DELETE", "/orders", None, "pipeline.busy"),
        ("PUT", "/by-name/orders", {"query": "SELECT 2"}, "pipeline.incompatible"),
        ("PUT", "/by-name/clicks", {"query": "SELECT to file:///out/x"}, "pipeline.target_taken"),
        ("POST", "/orders/restore", {"savepoint_id": "?"}, "savepoint.replay"),
        ("PATCH", "/missing", {"stop": "force"}, "pipeline.not_found"),
    ],
)
def test_dry_run_is_refused_like_the_deployment(
    plane: Plane, method: str, path: str, body: dict[str, Any] | None, code: str
) -> None:
    savepoint = at_epoch_nine(plane)
    plane.deploy("other", query="SELECT to file:///out/x")
    sent = body and {name: savepoint["id"] if value == "?" else value for name, value in body.items()}

    assert dry(plane, method, path, sent)["code"] == code


@pytest.mark.parametrize(
    ("body", "remarks"),
    [
        ({"reset": ["tumble"]}, ["reset has no effect on tumble: the state is kept as it is"]),
        (
            {"settings": {"memory": "1g"}, "keep_state": ["a"], "hold_back": ["b", "c"]},
            [
                "keep_state has no effect on a: the state is kept as it is",
                "hold_back has no effect on b, c: the state is kept as it is",
            ],
        ),
        ({}, []),
    ],
)
def test_names_for_an_upgrade_that_is_none_are_said_to_have_no_effect(
    plane: Plane, body: dict[str, Any], remarks: list[str]
) -> None:
    plane.run()
    path = "/api/v1/pipelines/by-name/orders"

    told = plane.http.put(f"{path}?dry_run=true", json={"query": "SELECT 1", **body}).json()
    done = plane.http.put(path, json={"query": "SELECT 1", **body}).json()

    assert (told["remarks"], done["remarks"]) == (remarks, remarks)


def test_names_for_an_upgrade_of_a_new_pipeline_are_said_to_have_no_effect(
    plane: Plane, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = plane.http.put("/api/v1/pipelines/by-name/orders", json={"query": "SELECT 1", "reset": ["foo"]}).json()

    assert answer["remarks"] == ["reset has no effect on foo: the pipeline is new"]
    warn_of_remarks(answer)
    assert capsys.readouterr().err == "reset has no effect on foo: the pipeline is new\n"


def test_names_for_an_upgrade_that_is_done_have_an_effect(plane: Plane) -> None:
    plane.run()
    plane.call("heartbeat", {"state": "running", "reports": [report(1, 1)]})
    plane.upgrade = ShownUpgrade("f0", "SELECT 1", False, True, "all is kept", "", "{}")

    body = {"query": "SELECT 2", "reset": ["tumble"]}

    assert plane.http.put("/api/v1/pipelines/by-name/orders", json=body).json()["remarks"] == []
