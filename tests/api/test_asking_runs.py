"""Whom OpenLineage is told as the parent of runs: who has asked for what makes them, and what that is a part of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.api.conftest import Plane, report
from tests.api.test_hand_overs import HAND_OVER, Two, two
from tests.api.test_lineage_events import Ears, ears, start
from tests.api.test_rollbacks import upgraded
from tests.api.test_savepoints import take
from tests.api.test_upgrades import let_savepoints_settle, running

__all__ = ("ears", "running", "two", "upgraded")

DEPLOYING = ("airflow", "nightly.deploy", "0190c2f4-5a5c-7a4f-8f6a-000000000001")
ASKING = ("airflow://prod/eu", "repair.act", "0190c2f4-5a5c-7a4f-8f6a-000000000002")
ROOT = ("airflow://prod/eu", "repair", "0190c2f4-5a5c-7a4f-8f6a-000000000003")
NAMED = {"OpenLineage-Parent": "/".join(ASKING), "OpenLineage-Root": "/".join(ROOT)}
BY_NAME = "/api/v1/pipelines/by-name/orders"
ORDERS = "/api/v1/pipelines/orders"


def names(told: dict[str, Any] | None) -> tuple[str, str, str] | None:
    return None if told is None else (told["job"]["namespace"], told["job"]["name"], told["run"]["runId"])


def parents(plane: Plane, ears: Ears) -> dict[tuple[str, int], dict[str, Any] | None]:
    """The parents of all runs that are told of, by the pipeline and the number of its run."""
    start(plane, ears).look()
    told = {}
    for event in ears.events:
        facets = event["run"]["facets"]
        told[event["job"]["name"], facets["arroyo_run"]["generation"]] = facets.get("parent")
    return told


def send(plane: Plane, path: str, method: str = "POST", headers: dict[str, str] = NAMED, **body: Any) -> dict[str, Any]:
    answer = plane.http.request(method, path, json=body, headers=headers)
    assert answer.is_success, answer.text
    plane.settle()
    told: dict[str, Any] = answer.json()
    return told


def roll_back(plane: Plane, headers: dict[str, str]) -> None:
    send(plane, f"{ORDERS}/rollback", headers=headers)


def restore(plane: Plane, headers: dict[str, str]) -> None:
    send(plane, f"{ORDERS}/restore", headers=headers, savepoint_id=take(plane)["id"], allow_replay=True)


def rescale(plane: Plane, headers: dict[str, str]) -> None:
    send(plane, ORDERS, "PATCH", headers=headers, parallelism=7)


def restart(plane: Plane, headers: dict[str, str]) -> None:
    send(plane, f"{ORDERS}/restart", headers=headers)


def deploy(plane: Plane, headers: dict[str, str]) -> None:
    send(plane, BY_NAME, "PUT", headers=headers, query="SELECT 1", force=True)


@pytest.mark.parametrize("change", [deploy, roll_back, restore, rescale, restart])
@pytest.mark.parametrize("is_named", [True, False])
def test_whoever_asks_for_another_run_is_its_parent_and_not_who_asked_before(
    upgraded: Plane, ears: Ears, change: Callable[[Plane, dict[str, str]], None], is_named: bool
) -> None:
    before = {"OpenLineage-Parent": "/".join(DEPLOYING)}
    send(upgraded, BY_NAME, "PUT", before, query="SELECT 2", settings={"linger": "1 s"})
    upgraded.end()
    upgraded.come_up()
    generation = upgraded.runner.launched[-1].generation
    upgraded.let_pass(1)

    change(upgraded, NAMED if is_named else {})
    upgraded.end()
    let_savepoints_settle(upgraded)
    upgraded.come_up()

    told = parents(upgraded, ears)
    assert max(told) == ("orders", generation + 1)
    asked = told["orders", generation + 1]
    assert names(asked) == (ASKING if is_named else None)
    assert asked is None or names(asked["root"]) == ROOT
    assert names(told.get(("orders", generation))) in (None, DEPLOYING)


def test_requester_of_a_fork_is_the_parent_of_the_fork_only(plane: Plane, ears: Ears) -> None:
    plane.run(query="SELECT 1 INTO file:///out/x")
    savepoint = take(plane)["id"]
    plane.let_pass(1)

    send(plane, f"/api/v1/savepoints/{savepoint}/fork", name="orders-2", query="SELECT 1 INTO file:///out/y")

    told = parents(plane, ears)
    assert (names(told["orders-2", 1]), told["orders", 1]) == (ASKING, None)


def test_requester_of_a_take_over_is_the_parent_of_the_original_once_it_continues(two: Two, ears: Ears) -> None:
    plane = two.plane
    plane.let_pass(1)
    send(plane, HAND_OVER)
    two.to_the_switch()
    assert two.look() == "switching"
    two.saved()
    plane.settle()
    plane.come_up()
    plane.call("heartbeat", {"state": "running", "reports": [report(3, 1)]})

    told = parents(plane, ears)

    run = plane.runner.launched[-1]
    assert (run.name, run.generation > 1) == ("orders", True)
    assert names(told["orders", run.generation]) == ASKING


def test_requester_of_a_reprocessing_is_the_parent_of_the_copy(plane: Plane, ears: Ears) -> None:
    plane.http.app.state.context = plane.plans_by(reprocess=lambda *_: [])  # type: ignore[attr-defined]
    plane.run()
    plane.let_pass(1)

    send(plane, f"{ORDERS}/reprocess", into="again", since="2026-01-01")

    told = parents(plane, ears)
    assert (names(told["orders-again", 1]), told["orders", 1]) == (ASKING, None)


def test_a_run_that_is_no_part_of_another_one_has_no_root(plane: Plane, ears: Ears) -> None:
    send(plane, BY_NAME, "PUT", {"OpenLineage-Parent": "/".join(ASKING)}, query="SELECT 1")

    [told] = parents(plane, ears).values()
    assert told is not None
    assert (names(told), "root" in told) == (ASKING, False)


@pytest.mark.parametrize(
    ("headers", "says"),
    [
        ({"OpenLineage-Root": "/".join(ROOT)}, "OpenLineage-Parent none that is a part of it"),
        ({**NAMED, "OpenLineage-Root": "repair"}, "the header OpenLineage-Root is 'repair'"),
    ],
)
def test_a_root_that_belongs_to_no_run_is_refused(plane: Plane, headers: dict[str, str], says: str) -> None:
    sent = plane.http.put(BY_NAME, json={"query": "SELECT 1"}, headers=headers)

    assert (sent.status_code, sent.json()["code"]) == (422, "request.invalid")
    assert says in sent.text
    assert plane.http.get(ORDERS).status_code == 404
