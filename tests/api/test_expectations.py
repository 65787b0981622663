"""A plan says what is to be expected of it: the pause that upgrades have made, the certificates that will be void."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests.api.conftest import Plane
from tests.api.test_certificates import ask, certificates, reach, warnings
from tests.api.test_upgrades import KEPT, LOSES, REFUSED, redeploy

AGAIN = replace(LOSES, repeated=("counts",))


def planned(plane: Plane, query: str = "SELECT 2") -> dict[str, Any]:
    answer: dict[str, Any] = plane.http.post("/api/v1/pipelines/orders/plan", json={"query": query}).json()
    return answer


def with_run(plane: Plane) -> None:
    plane.run(query="SELECT 1")
    reach(plane, 7, 12)


def upgrade(plane: Plane, lineage: str, query: str, **body: object) -> None:
    """Deploy another query, and have its run commit an epoch of a history of its own, three seconds after it began."""
    assert redeploy(plane, query=query, **body)[0] == 200
    plane.settle()
    plane.end()
    plane.now += timedelta(seconds=3)
    plane.come_up()
    reach(plane, 8, 13, lineage)


def test_the_pause_is_unknown_until_an_upgrade_has_been_measured(plane: Plane) -> None:
    with_run(plane)
    plane.upgrade = KEPT
    before = planned(plane)
    assert before["plan"]["expected"]["pause_micros"] is None
    assert "has not been measured yet" in before["text"]
    dry = plane.http.put("/api/v1/pipelines/by-name/orders?dry_run=true", json={"query": "SELECT 2"}).json()
    assert dry["pause_micros"] is None
    assert dry["upgrade"]["plan"] == before["plan"]

    upgrade(plane, "b", "SELECT 2")

    after = planned(plane, "SELECT 3")
    assert "as the last upgrade took" in after["text"]
    assert "as the last upgrade took" in after["markdown"]
    assert after["plan"]["expected"]["pause_micros"] >= 3_000_000
    assert after["id"] == before["id"]
    dry = plane.http.put("/api/v1/pipelines/by-name/orders?dry_run=true", json={"query": "SELECT 3"}).json()
    assert dry["pause_micros"] == after["plan"]["expected"]["pause_micros"]


def test_refused_deployment_has_no_expectations_and_a_stopped_job_has_no_pause(plane: Plane) -> None:
    with_run(plane)
    plane.upgrade = REFUSED
    assert "expected" not in planned(plane)["plan"]

    plane.upgrade = KEPT
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "immediate"})
    plane.settle()
    plane.end()
    assert planned(plane)["plan"]["expected"]["pause"] == "the job rests, and has no output that could pause"


def test_certificates_are_named_and_void_where_a_sink_gets_its_rows_again(plane: Plane) -> None:
    with_run(plane)
    for run, sink in (("all", {}), ("counts", {"table": "counts"})):
        ask(plane, run, **sink)
    plane.upgrade = KEPT
    assert planned(plane)["plan"]["expected"]["voided"] == []

    plane.upgrade = AGAIN
    shown = planned(plane)
    assert {name.split()[-1] for name in shown["plan"]["expected"]["voided"]} == {"all", "counts"}
    assert "gate certificates voided: gate_" in shown["text"]
    dry = plane.http.put(
        "/api/v1/pipelines/by-name/orders?dry_run=true", json={"query": "SELECT 2", "accept_loss": "88aa"}
    ).json()
    assert dry["voided"] == shown["plan"]["expected"]["voided"]
    assert certificates(plane) == {"all": False, "counts": False}

    upgrade(plane, "b", "SELECT 2", accept_loss="88aa")

    assert certificates(plane) == {"all": True, "counts": True}
    assert "2 certificates of gates are void" in warnings(plane)[0]
    ask(plane, "later")
    reach(plane, 9, 14, "c")
    assert certificates(plane)["later"] is False


def test_an_upgrade_that_repeats_nothing_voids_nothing(plane: Plane) -> None:
    with_run(plane)
    ask(plane, "monday")
    plane.upgrade = LOSES

    upgrade(plane, "b", "SELECT 2", accept_loss="88aa")

    assert certificates(plane) == {"monday": False}
    assert warnings(plane) == []
