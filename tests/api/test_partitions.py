"""Consumers of partitions: what they are told, and that it is told once."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from engine.checkpoints.layout import StatePaths
from engine.checkpoints.lineage import Lineage, write_lineage
from engine.store.savepoints import SAVEPOINTS
from tests.api.conftest import T0, Plane, report

HOURS = "/api/v1/partitions/hours"
BODY = {"pipeline": "orders", "every": "1 hour", "start": "2026-01-01"}
GATE = "/pipelines/orders/watermark?past={}&dag_id=daily&run_id={}"


def reach(plane: Plane, epoch: int, minutes: int, lineage: str = "a") -> None:
    plane.call("heartbeat", {"state": "running", "reports": [{**report(epoch, minutes), "lineage": lineage}]})


def follow(plane: Plane, name: str = "hours", **body: object) -> dict[str, Any]:
    answer = plane.http.put(f"/api/v1/partitions/{name}", json={**BODY, **body})
    assert answer.is_success, answer.text
    consumer: dict[str, Any] = answer.json()
    return consumer


def told(plane: Plane, name: str = "hours", query: str = "") -> list[tuple[int, str, str]]:
    page = plane.get(f"/partitions/{name}/next{query}")
    return [(each["sequence"], each["kind"], each["key"][11:13]) for each in page["data"]]


def ack(plane: Plane, up_to: int, name: str = "hours") -> None:
    answer = plane.http.post(f"/api/v1/partitions/{name}/ack", json={"up_to": up_to})
    assert answer.is_success, answer.text
    assert answer.json()["acked"] >= up_to


@pytest.fixture
def late(plane: Plane) -> Plane:
    """The clock shows noon, and orders runs."""
    plane.run()
    plane.now = T0 + timedelta(hours=12)
    return plane


def test_each_hour_is_told_once_and_again_until_it_is_acknowledged(late: Plane) -> None:
    follow(late)
    assert told(late) == []
    reach(late, 7, 125)

    first = late.get("/partitions/hours/next")
    again = late.get("/partitions/hours/next")

    assert first == again
    assert [(each["sequence"], each["key"]) for each in first["data"]] == [
        (1, "2026-01-01T00:00:00"),
        (2, "2026-01-01T01:00:00"),
    ]
    certificate = first["data"][1]["certificate"]
    assert (certificate["epoch"], certificate["lineage"]) == (7, "a")
    assert certificate["run_id"] == "hours/2026-01-01T01:00:00"
    assert certificate["past"] == first["data"][1]["end"] == first["consumer"]["closed_until"]
    ack(late, 1)
    assert told(late) == [(2, "closed", "01")]
    ack(late, 2)
    ack(late, 1)
    assert told(late) == []
    reach(late, 8, 185)
    assert told(late) == [(3, "closed", "02")]
    assert late.get("/partitions/hours")["delivered"] == 3


def test_few_at_a_time_come_in_order(late: Plane) -> None:
    follow(late)
    reach(late, 7, 185)

    page = late.get("/partitions/hours/next?limit=2")

    assert ([each["sequence"] for each in page["data"]], page["has_more"]) == ([1, 2], True)
    ack(late, 2)
    page = late.get("/partitions/hours/next?limit=2")
    assert ([each["sequence"] for each in page["data"]], page["has_more"]) == ([3], False)


def test_no_hour_is_closed_before_it_has_ended_by_the_clock(late: Plane) -> None:
    follow(late)
    reach(late, 7, 60)
    late.end("finished")

    assert len(told(late)) == 12
    late.now += timedelta(hours=1)
    assert len(told(late)) == 13


def test_a_restore_has_what_it_voids_told_again(late: Plane) -> None:
    follow(late)
    savepoint = late.http.post("/api/v1/pipelines/orders/savepoints").json()
    reach(late, 7, 65)
    assert told(late) == [(1, "closed", "00")]
    reach(late, 9, 190)
    assert told(late)[1:] == [(2, "closed", "01"), (3, "closed", "02")]
    ack(late, 2)

    body = {"savepoint_id": savepoint["id"], "allow_replay": True}
    assert late.http.post("/api/v1/pipelines/orders/restore", json=body).is_success
    late.settle()
    late.end()
    late.come_up()

    assert told(late) == [(4, "voided", "01"), (5, "voided", "02")]
    assert all(each["certificate"]["voided_at"] for each in late.get("/partitions/hours/next")["data"])
    ack(late, 5)
    assert told(late) == []
    reach(late, 8, 125, lineage="b")
    assert told(late) == [(6, "closed", "01")]
    reach(late, 9, 250, lineage="b")
    assert told(late) == [(6, "closed", "01"), (7, "closed", "02"), (8, "closed", "03")]


def go_to(plane: Plane, savepoint: str, lineage: str, *parents: tuple[str, int]) -> None:
    """Restore a savepoint, whose state goes on as a history that came from those."""
    body = {"savepoint_id": savepoint, "allow_replay": True}
    assert plane.http.post("/api/v1/pipelines/orders/restore", json=body).is_success
    plane.settle()
    plane.end()
    paths = StatePaths(plane.context.directory.state(plane.job()["pipeline_id"]))
    paths.root.mkdir(parents=True, exist_ok=True)
    write_lineage(paths.lineage, Lineage(lineage, parents))
    plane.come_up()


def saved(plane: Plane, epoch: int) -> str:
    """A savepoint of an epoch."""
    made = str(plane.http.post("/api/v1/pipelines/orders/savepoints").json()["id"])
    with plane.context.database.writing() as connection:
        connection.execute(update(SAVEPOINTS).where(SAVEPOINTS.c.id == made).values(epoch=epoch))
    return made


def test_back_and_then_forward_again_voids_what_was_told_in_between(late: Plane) -> None:
    follow(late)
    reach(late, 3, 65)
    early = saved(late, 3)
    assert told(late) == [(1, "closed", "00")]
    reach(late, 7, 130)
    newer = saved(late, 7)
    assert told(late)[1:] == [(2, "closed", "01")]
    ack(late, 2)

    go_to(late, early, "b", ("a", 3))
    reach(late, 4, 130, lineage="b")
    assert told(late) == [(3, "voided", "01"), (4, "closed", "01")]
    early_batch = late.get(GATE.format("2026-01-01T02:00:00Z", "early"))["certificate"]
    ack(late, 4)
    go_to(late, newer, "c", ("a", 7))
    assert told(late) == [], "nothing is known of the other history yet"
    reach(late, 8, 190, lineage="c")

    assert told(late) == [(5, "voided", "01"), (6, "closed", "01"), (7, "closed", "02")]
    given = {each["sequence"]: each for each in late.get("/partitions/hours/deliveries")["data"]}
    void = {sequence: each["certificate"]["voided_at"] is not None for sequence, each in given.items()}
    assert void == {1: False, 2: True, 3: True, 4: True, 5: True, 6: False, 7: False}
    listed = late.get("/pipelines/orders/certificates")["data"]
    assert [(each["id"], each["voided_at"] is not None) for each in listed] == [(early_batch["id"], True)]


def test_no_bucket_is_closed_while_the_state_is_about_to_be_discarded(late: Plane) -> None:
    follow(late)
    reach(late, 7, 65)
    late.http.put("/api/v1/pipelines/by-name/orders", json={"query": "SELECT 2", "force": True})

    assert told(late) == []


def test_two_consumers_are_told_of_all_and_each_has_its_own_cursor(late: Plane) -> None:
    follow(late)
    follow(late, "halves", every="30 minutes")
    reach(late, 7, 65)

    assert told(late) == [(1, "closed", "00")]
    assert [sequence for sequence, _, _ in told(late, "halves")] == [1, 2]
    ack(late, 1)
    assert len(told(late, "halves")) == 2
    assert [each["name"] for each in late.get("/partitions?pipeline=orders")["data"]] == ["halves", "hours"]


def test_two_that_ask_at_once_are_given_the_same(late: Plane) -> None:
    follow(late)
    reach(late, 7, 605)
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: late.get("/partitions/hours/next"), range(16)))

    assert len(answers[0]["data"]) == 10
    assert all(answer == answers[0] for answer in answers)


def test_a_held_request_is_answered_as_soon_as_an_hour_is_complete(late: Plane) -> None:
    follow(late)
    with ThreadPoolExecutor(2) as threads:
        held = [threads.submit(told, late, "hours", "?timeout_seconds=50") for _ in range(2)]
        _until_held(late, 2)
        reach(late, 7, 65)

        assert [each.result(timeout=40) for each in held] == [[(1, "closed", "00")]] * 2


def test_a_held_request_ends_when_its_consumer_is_deleted(late: Plane) -> None:
    follow(late)
    with ThreadPoolExecutor(1) as threads:
        held = threads.submit(late.http.get, f"{HOURS}/next?timeout_seconds=50")
        _until_held(late, 1)
        assert late.http.delete(HOURS).status_code == 204

        answer = held.result(timeout=40)

    assert (answer.status_code, answer.json()["code"]) == (404, "partition.not_found")
    assert late.http.delete(HOURS).status_code == 404


def test_a_held_request_ends_when_its_pipeline_is_deleted(late: Plane) -> None:
    follow(late)
    late.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"})
    late.settle()
    late.end()
    with ThreadPoolExecutor(1) as threads:
        held = threads.submit(late.http.get, f"{HOURS}/next?timeout_seconds=50")
        _until_held(late, 1)
        assert late.http.delete("/api/v1/pipelines/orders").is_success
        late.settle()

        assert held.result(timeout=40).json()["code"] == "partition.not_found"


def test_made_again_it_is_the_same_and_another_one_is_refused(late: Plane) -> None:
    consumer = follow(late)
    reach(late, 7, 65)
    told(late)

    assert follow(late)["id"] == follow(late, start=None)["id"] == consumer["id"]
    for other in ({"every": "1 day"}, {"by": "output"}, {"table": "counts"}, {"until": 9e15}, {"start": "2026-01-02"}):
        refused = late.http.put(HOURS, json={**BODY, **other})
        assert refused.status_code in (409, 422), refused.text
    assert late.get("/partitions/hours")["delivered"] == 1


def test_unknown_consumer_or_table_is_refused(late: Plane) -> None:
    follow(late)
    reach(late, 7, 65)
    told(late)

    def code(method: str, path: str, body: object = None) -> tuple[int, str]:
        answer = late.http.request(method, f"/api/v1/partitions/{path}", json=body)
        return answer.status_code, answer.json()["code"]

    assert code("POST", "hours/ack", {"up_to": 2}) == (409, "partition.not_delivered")
    assert code("POST", "hours/ack", {"up_to": 1, "id": "part_other"}) == (409, "partition.differs")
    assert code("PUT", "hours", {**BODY, "every": "1 day"}) == (409, "partition.differs")
    assert code("PUT", "x", {**BODY, "late": "reopen"}) == (409, "partition.late_unknown")
    assert code("PUT", "x", {**BODY, "push": {}}) == (422, "request.invalid")
    assert code("PUT", "x", {**BODY, "every": "0 hours"}) == (400, "partition.invalid")
    assert code("PUT", "x", {**BODY, "time_zone": "Europe/Berlin"}) == (400, "partition.invalid")
    assert code("PUT", "x", {**BODY, "table": "nowhere"}) == (404, "pipeline.no_such_sink")
    assert code("PUT", "x", {**BODY, "pipeline": "nobody"})[0] == 404
    assert code("GET", "nobody/next") == (404, "partition.not_found")


def test_table_without_known_completeness_is_refused(late: Plane) -> None:
    visits = {"complete_until": None, "output_until": None, "unknown": "it is made of sessions"}
    late.call("heartbeat", {"state": "running", "reports": [{**report(1, 30), "sinks": {"visits": visits}}]})

    refused = late.http.put(HOURS, json=BODY)

    assert (refused.status_code, refused.json()["code"]) == (409, "pipeline.completeness_unknown")


def test_certificates_of_partitions_are_not_among_those_of_dag_runs(late: Plane) -> None:
    follow(late)
    reach(late, 7, 605)
    told(late)
    late.get("/pipelines/orders/watermark?past=2026-01-01T00:10:00Z&dag_id=partitions&run_id=monday")

    page = late.get("/pipelines/orders/certificates")["data"]

    assert [each["run_id"] for each in page] == ["monday"]


def test_deliveries_are_listed_newest_first_including_acknowledged_ones(late: Plane) -> None:
    follow(late)
    reach(late, 7, 185)
    told(late)
    ack(late, 2)

    page = late.get("/partitions/hours/deliveries?limit=2")

    assert ([each["sequence"] for each in page["data"]], page["has_more"]) == ([3, 2], True)
    assert page["data"][0] == late.get("/partitions/hours/next")["data"][0]
    assert len(late.get("/partitions/hours/deliveries")["data"]) == 3
    assert late.http.get("/api/v1/partitions/nobody/deliveries").json()["code"] == "partition.not_found"


def test_old_deliveries_go_once_they_are_acknowledged_and_nothing_is_told_twice_or_never(late: Plane) -> None:
    follow(late)
    savepoint = late.http.post("/api/v1/pipelines/orders/savepoints").json()
    reach(late, 9, 245)
    assert len(told(late)) == 4
    ack(late, 3)
    body = {"savepoint_id": savepoint["id"], "allow_replay": True}
    assert late.http.post("/api/v1/pipelines/orders/restore", json=body).is_success
    late.settle()
    late.end()
    late.come_up()
    reach(late, 8, 65, lineage="b")
    assert [kind for _, kind, _ in told(late)] == ["voided"] * 4 + ["closed"]
    ack(late, 8)
    late.now += timedelta(days=91)

    swept = {leak["kind"]: leak["count"] for leak in late.http.post("/api/v1/sweep").json()["leaks"]}

    assert swept["partition deliveries"] == 5
    left = late.get("/partitions/hours/deliveries")["data"]
    assert [(each["sequence"], each["kind"]) for each in left] == [
        (9, "closed"),
        (8, "voided"),
        (7, "voided"),
        (6, "voided"),
    ]
    reach(late, 9, 185, lineage="b")
    assert told(late) == [(9, "closed", "00"), (10, "closed", "01"), (11, "closed", "02")]


def _until_held(plane: Plane, times: int) -> None:
    end, pause = time.monotonic() + 60, threading.Event()
    while sum(len(waits) for waits in plane.context.changes._waiting.values()) < times:
        assert time.monotonic() < end
        pause.wait(0.005)
