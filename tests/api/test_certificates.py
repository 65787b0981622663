"""Certificates: what a DAG run relies on that has passed a gate, and what voids it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy.event import listen

from engine.checkpoints.layout import StatePaths
from engine.checkpoints.lineage import Lineage, write_lineage
from tests.api.conftest import T0, Plane, report

PATH = "/pipelines/orders/watermark"
TEN = "2026-01-01T00:10:00Z"


def reach(plane: Plane, epoch: int, minutes: int, lineage: str = "a") -> None:
    plane.call("heartbeat", {"state": "running", "reports": [{**report(epoch, minutes), "lineage": lineage}]})


def plan_epoch(plane: Plane, epoch: int, positions: Mapping[str, Mapping[str, int]]) -> None:
    """Have an epoch in the offset log of the pipeline's state, of lineage a."""
    paths = StatePaths(plane.context.directory.state(plane.job()["pipeline_id"]))
    offsets = paths.checkpoint / "offsets"
    offsets.mkdir(parents=True, exist_ok=True)
    sources = [json.dumps(json.dumps({"table": table, "at": at})) for table, at in positions.items()]
    (offsets / str(epoch)).write_text("\n".join(["v1", "{}", *sources]))
    write_lineage(paths.lineage, Lineage("a"))


def ask(plane: Plane, run: str, past: str = TEN, **query: str) -> dict[str, Any]:
    words = "".join(f"&{name}={value}" for name, value in query.items())
    return plane.get(f"{PATH}?past={past}&dag_id=daily&run_id={run}{words}")


def certificates(plane: Plane) -> dict[str, bool]:
    """Which runs have one, and whether it is void; the newest first."""
    page = plane.get("/pipelines/orders/certificates")["data"]
    return {certificate["run_id"]: certificate["voided_at"] is not None for certificate in page}


def warnings(plane: Plane) -> list[str]:
    page = plane.get("/pipelines/orders/events")["data"]
    return [message["message"] for message in page if message["code"] == "gate.voided"]


def test_a_run_that_passes_a_gate_is_given_what_it_stands_on(plane: Plane) -> None:
    plane.run()
    reach(plane, 7, 12)

    certificate = ask(plane, "monday", table="counts")["certificate"]

    micros = int(T0.timestamp()) * 1_000_000
    assert {name: certificate[name] for name in certificate if name not in ("id", "openlineage")} == {
        "pipeline_id": plane.job()["pipeline_id"],
        "version": 1,
        "lineage": "a",
        "epoch": 7,
        "past": micros + 10 * 60_000_000,
        "complete_until": micros + 12 * 60_000_000,
        "table": "counts",
        "by": "input",
        "dag_id": "daily",
        "run_id": "monday",
        "at": micros,
        "voided_at": None,
        "offsets": None,
    }
    assert plane.get("/pipelines/orders/certificates")["data"] == [certificate]


def test_a_certificate_has_the_positions_up_to_which_its_epoch_has_read(plane: Plane) -> None:
    plane.run()
    plan_epoch(plane, 7, {"clicks": {"p0": 12, "p1": 4}})
    plan_epoch(plane, 8, {"clicks": {"p0": 20, "p1": 9}})
    reach(plane, 7, 12)

    certificate = ask(plane, "monday")["certificate"]
    reach(plane, 8, 13)

    assert certificate["offsets"] == {"clicks": {"p0": 12, "p1": 4}}
    assert ask(plane, "monday")["certificate"] == certificate
    assert plane.get("/pipelines/orders/certificates")["data"] == [certificate]


def test_positions_of_another_history_are_not_those_of_the_certificate(plane: Plane) -> None:
    plane.run()
    plan_epoch(plane, 7, {"clicks": {"p0": 12}})
    reach(plane, 7, 12, lineage="b")

    assert ask(plane, "monday")["certificate"]["offsets"] is None


def test_a_run_that_asks_again_has_the_certificate_that_it_was_given(plane: Plane) -> None:
    plane.run()
    reach(plane, 7, 12)
    first = ask(plane, "monday")["certificate"]
    reach(plane, 8, 13)

    assert ask(plane, "monday")["certificate"] == first
    assert ask(plane, "tuesday")["certificate"]["epoch"] == 8
    assert list(certificates(plane)) == ["tuesday", "monday"] or list(certificates(plane)) == ["monday", "tuesday"]


def test_no_certificate_before_the_gate_or_without_a_run(plane: Plane) -> None:
    plane.run()
    reach(plane, 7, 9)

    assert ask(plane, "monday")["certificate"] is None
    reach(plane, 8, 12)
    assert plane.get(f"{PATH}?past={TEN}&dag_id=daily")["certificate"] is None
    assert certificates(plane) == {}


def test_a_restore_names_and_voids_what_stands_on_later_epochs(plane: Plane) -> None:
    plane.run()
    savepoint = plane.http.post("/api/v1/pipelines/orders/savepoints").json()
    assert savepoint["epoch"] == 7
    reach(plane, 7, 12)
    ask(plane, "monday")
    reach(plane, 9, 14)
    ask(plane, "tuesday")

    body = {"savepoint_id": savepoint["id"], "allow_replay": True}
    answer = plane.http.post("/api/v1/pipelines/orders/restore", json=body).json()
    assert [certificate["run_id"] for certificate in answer["voids"]] == ["tuesday"]
    plane.settle()
    plane.end()
    plane.come_up()

    assert certificates(plane) == {"monday": False, "tuesday": True}
    [warning] = warnings(plane)
    assert warning.startswith("1 certificates of gates are void: daily tuesday (epoch 9")
    assert plane.get("/pipelines/orders")["voids"] == []
    reach(plane, 8, 12, lineage="b")
    assert ask(plane, "tuesday")["certificate"]["lineage"] == "b"
    assert certificates(plane)["monday"] is False


def test_a_restore_forward_names_what_was_given_since_one_back(plane: Plane) -> None:
    plane.run()
    reach(plane, 5, 12)
    ask(plane, "monday")
    savepoint = plane.http.post("/api/v1/pipelines/orders/savepoints").json()
    saved = StatePaths(plane.context.directory.savepoint(savepoint["pipeline_id"], savepoint["id"]))
    write_lineage(saved.lineage, Lineage("a"))
    reach(plane, 6, 13, lineage="b")
    given = ask(plane, "tuesday")["certificate"]
    body = {"savepoint_id": savepoint["id"], "allow_replay": True}

    dry = plane.http.post("/api/v1/pipelines/orders/restore?dry_run=true", json=body).json()
    answer = plane.http.post("/api/v1/pipelines/orders/restore", json=body).json()

    assert dry["voided"] == [f"{given['id']} of daily tuesday"]
    assert [certificate["run_id"] for certificate in answer["voids"]] == ["tuesday"]
    [listed] = plane.get("/pipelines")["data"]
    assert listed["voids"] == answer["voids"]

    plane.settle()
    plane.end()
    plane.come_up()
    # before the first epoch of the history that begins
    assert certificates(plane) == {"monday": False, "tuesday": True}


def test_a_void_certificate_names_the_run_that_it_stood_on(plane: Plane) -> None:
    plane.run()
    savepoint = plane.http.post("/api/v1/pipelines/orders/savepoints").json()
    reach(plane, 9, 14)
    given = ask(plane, "monday")["certificate"]
    plane.now += timedelta(seconds=1)
    plane.http.post("/api/v1/pipelines/orders/restore", json={"savepoint_id": savepoint["id"], "allow_replay": True})
    plane.settle()
    plane.end()
    plane.come_up()
    reach(plane, 9, 14, lineage="b")

    [void] = plane.get("/pipelines/orders/certificates")["data"]

    assert void["voided_at"] is not None
    assert void["openlineage"] == given["openlineage"]


def test_force_names_and_voids_all(plane: Plane) -> None:
    plane.run()
    reach(plane, 7, 12)
    ask(plane, "monday")

    answer = plane.http.put("/api/v1/pipelines/by-name/orders", json={"query": "SELECT 2", "force": True}).json()
    assert [certificate["run_id"] for certificate in answer["voids"]] == ["monday"]
    assert ask(plane, "late")["certificate"] is None, "the state is to be given up"
    plane.settle()
    plane.end()

    assert certificates(plane) == {"monday": True}
    assert len(warnings(plane)) == 1


def test_a_state_that_turns_out_to_be_another_one_voids_what_stood_on_its_epochs(plane: Plane) -> None:
    plane.run()
    reach(plane, 7, 12)
    ask(plane, "monday")

    reach(plane, 0, 5, lineage="b")

    assert certificates(plane) == {"monday": True}


def test_the_event_of_what_is_void_names_who_asked_for_that(plane: Plane) -> None:
    plane.run()
    reach(plane, 7, 12)
    ask(plane, "monday")
    plane.http.put("/api/v1/pipelines/by-name/orders", json={"query": "SELECT 2", "force": True})
    plane.settle()
    plane.end()
    plane.come_up()
    reach(plane, 7, 12)
    ask(plane, "tuesday")
    reach(plane, 0, 5, lineage="b")

    events = plane.get("/pipelines/orders/events")["data"]

    voided = [event["who"] for event in reversed(events) if event["code"] == "gate.voided"]
    assert voided == ["admin", "control plane"]


def test_a_page_of_certificates_reads_no_more_than_it_shows(plane: Plane) -> None:
    plane.run()
    reach(plane, 7, 12)
    for run in ("monday", "tuesday", "wednesday"):
        plane.now += timedelta(seconds=1)
        ask(plane, run)
    statements: list[str] = []
    listen(plane.context.database.engine, "before_cursor_execute", lambda *call: statements.append(call[2]))

    page = plane.get("/pipelines/orders/certificates?limit=2")

    assert ([certificate["run_id"] for certificate in page["data"]], page["has_more"]) == (
        ["wednesday", "tuesday"],
        True,
    )
    assert ["LIMIT" in statement for statement in statements if "FROM certificates" in statement] == [True]


def test_a_rescale_voids_nothing(plane: Plane) -> None:
    plane.run()
    reach(plane, 7, 12)
    ask(plane, "monday")

    reach(plane, 9, 13, lineage="b")

    assert certificates(plane) == {"monday": False}


def test_a_finished_job_certifies_too(plane: Plane) -> None:
    plane.run()
    reach(plane, 7, 9)
    plane.end("finished")

    assert ask(plane, "monday")["certificate"]["epoch"] == 7
