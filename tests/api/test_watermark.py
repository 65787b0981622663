from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from engine.api.answers import Watermark
from engine.control import deletions
from tests.api.conftest import T0, Plane, report

HALF_PAST = int(T0.timestamp() * 1_000_000) + 30 * 60_000_000
PATH = "/pipelines/orders/watermark"


def test_a_job_without_a_committed_epoch_has_no_watermark(plane: Plane) -> None:
    plane.run()

    answer = plane.get(PATH)

    assert set(answer) == set(Watermark.model_fields)
    assert (answer["watermark"], answer["passed"], answer["state"]) == (None, None, "Running")


@pytest.mark.parametrize(
    "past", [str(HALF_PAST), "2026-01-01T00:30:00Z", "2026-01-01T00:30:00", "2026-01-01T01:30:00%2B01:00"]
)
def test_an_instant_may_be_spelt_in_several_ways(plane: Plane, past: str) -> None:
    plane.run()
    plane.call("heartbeat", {"state": "running", "reports": [report(1, 30)]})

    answer = plane.get(f"{PATH}?past={past}")

    assert (answer["passed"], answer["watermark"], answer["sources"]) == (True, HALF_PAST, {"clicks": HALF_PAST})


def test_invalid_instant_is_refused(plane: Plane) -> None:
    plane.run()

    assert plane.http.get(f"/api/v1{PATH}?past=soon").json()["code"] == "request.invalid"


@pytest.mark.parametrize("past", ["0001-01-01T00:00:00%2B14:00", "9999-12-31T23:59:59-12:00"])
def test_an_instant_in_no_year_of_utc_is_refused_also_by_a_gate_that_gives_certificates(
    plane: Plane, past: str
) -> None:
    plane.run()
    plane.call("heartbeat", {"state": "running", "reports": [report(1, 30)]})
    plane.end("finished")

    refused = plane.http.get(f"/api/v1{PATH}?past={past}&dag_id=a&run_id=b")

    assert (refused.status_code, refused.json()["code"]) == (422, "request.invalid")


def test_a_day_without_dashes_is_not_taken_for_microseconds(plane: Plane) -> None:
    plane.run()
    plane.call("heartbeat", {"state": "running", "reports": [report(1, 30)]})

    refused = plane.http.get(f"/api/v1{PATH}?past=20260131")

    assert (refused.status_code, refused.json()["code"]) == (422, "request.invalid")
    assert "2026-01-31" in refused.json()["hint"]


def test_the_answer_waits_until_the_watermark_has_passed(plane: Plane) -> None:
    plane.run()
    with ThreadPoolExecutor(1) as threads:
        future = threads.submit(plane.get, f"{PATH}?past={HALF_PAST}&timeout_seconds=30")
        _until_watched(plane)
        plane.call("heartbeat", {"state": "running", "reports": [report(1, 20)]})
        plane.call("heartbeat", {"state": "running", "reports": [report(2, 40)]})

        answer = future.result(timeout=120)

    assert (answer["passed"], answer["epoch"]) == (True, 2)


def test_waiter_whose_token_was_revoked_gets_no_response(plane: Plane) -> None:
    plane.run()
    token = plane.http.post("/api/v1/tokens", json={"name": "guest"}).json()["token"]
    asked = f"/api/v1{PATH}?past={HALF_PAST}&timeout_seconds=30&dag_id=d&run_id=r"
    with ThreadPoolExecutor(1) as threads:
        future = threads.submit(plane.http.get, asked, headers={"Authorization": f"Bearer {token}"})
        _until_watched(plane)
        plane.http.delete("/api/v1/tokens/guest")
        plane.call("heartbeat", {"state": "running", "reports": [report(2, 40)]})

        refused = future.result(timeout=120)

    assert (refused.status_code, refused.json()["code"]) == (401, "auth.denied")
    assert plane.get("/pipelines/orders/certificates")["data"] == []


def test_the_answer_comes_when_the_time_is_over(plane: Plane) -> None:
    plane.run()

    answer = plane.get(f"{PATH}?past={HALF_PAST}&timeout_seconds=0.05")

    assert answer["passed"] is False


def test_the_answer_comes_when_the_job_rests(plane: Plane) -> None:
    plane.run()
    with ThreadPoolExecutor(1) as threads:
        future = threads.submit(plane.get, f"{PATH}?past={HALF_PAST}&timeout_seconds=30")
        _until_watched(plane)
        plane.end("failed", {"code": "sql.x", "message": "no"})

        answer = future.result(timeout=120)

    assert (answer["passed"], answer["state"]) == (False, "Failed")


def test_the_answer_comes_when_the_pipeline_is_deleted_and_is_not_that_of_the_next_one_of_its_name(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane.run()
    plane.end("failed", {"code": "sql.x", "message": "no"})
    pipeline = plane.get("/pipelines/orders")["id"]
    assert plane.http.post("/api/v1/pipelines/orders/restart", json={}).is_success
    removing, may_end = threading.Event(), threading.Event()
    monkeypatch.setattr(deletions, "finish", lambda *_: removing.set() or may_end.wait(120))
    with ThreadPoolExecutor(2) as threads:
        future = threads.submit(plane.http.get, f"/api/v1{PATH}?past={HALF_PAST}&timeout_seconds=50")
        _until_watched(plane)
        deletion = threads.submit(plane.http.delete, "/api/v1/pipelines/orders")
        assert removing.wait(120)

        refused = future.result(timeout=120)
        may_end.set()
        assert deletion.result(timeout=120).is_success

    assert (refused.status_code, refused.json()["code"]) == (404, "pipeline.deleted")
    assert refused.json()["detail"] == f"pipeline 'orders' ({pipeline}) was deleted while this request waited for it"
    plane.run()
    assert plane.get(PATH)["pipeline_id"] != pipeline


@pytest.mark.parametrize("ending", ["stopped", "failed"])
def test_a_job_at_rest_that_is_to_start_is_waited_for(plane: Plane, ending: str) -> None:
    plane.run()
    if ending == "stopped":
        plane.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"})
        plane.settle()
    plane.end(ending, {"code": "sql.x", "message": "no"} if ending == "failed" else None)
    assert plane.get(PATH)["settled"] is True
    request = {"stop": "none"} if ending == "stopped" else {}
    answer = plane.http.request(
        *("PATCH", "/api/v1/pipelines/orders") if ending == "stopped" else ("POST", "/api/v1/pipelines/orders/restart"),
        json=request,
    )
    assert answer.is_success, answer.text
    assert (plane.state(), plane.get(PATH)["settled"]) == (ending.capitalize(), False), "nothing has been done yet"
    with ThreadPoolExecutor(1) as threads:
        future = threads.submit(plane.get, f"{PATH}?past={HALF_PAST}&timeout_seconds=30")
        _until_watched(plane)
        plane.settle()
        plane.come_up()
        plane.call("heartbeat", {"state": "running", "reports": [report(1, 30)]})

        assert future.result(timeout=120)["passed"] is True


def test_a_finished_job_has_passed_every_instant(plane: Plane) -> None:
    plane.run()
    plane.end("finished")

    assert plane.get(f"{PATH}?past=9000-01-01T00:00:00Z")["passed"] is True


def test_a_finished_job_has_passed_nothing_for_a_sink_that_it_does_not_have(plane: Plane) -> None:
    plane.run()
    plane.call("heartbeat", {"state": "running", "reports": [report(1, 30)]})
    plane.end("finished")
    gate = f"{PATH}?past=9000-01-01T00:00:00Z&table="

    refused = plane.http.get(f"/api/v1{gate}shwon")

    assert (refused.status_code, refused.json()["code"]) == (404, "pipeline.no_such_sink")
    assert plane.get(f"{gate}counts")["passed"] is True


def test_a_held_request_holds_no_thread(plane: Plane) -> None:
    plane.run()
    with ThreadPoolExecutor(60) as threads:
        futures = [threads.submit(plane.get, f"{PATH}?past={HALF_PAST}&timeout_seconds=30") for _ in range(60)]
        _until_watched(plane, 60)

        assert plane.state() == "Running"

        plane.call("heartbeat", {"state": "running", "reports": [report(1, 40)]})
        assert all(future.result(timeout=120)["passed"] for future in futures)


def _until_watched(plane: Plane, times: int = 1) -> None:
    """Until so many requests are held."""
    end, pause = time.monotonic() + 120, threading.Event()
    while sum(len(events) for events in plane.context.changes._waiting.values()) < times:
        assert time.monotonic() < end
        pause.wait(0.005)


def sinks(**seconds: int | None) -> dict[str, dict[str, object]]:
    """Sinks whose output is complete up to so many seconds after midnight, all written up to half past."""
    return {
        name: {"complete_until": at and int(T0.timestamp() + at) * 1_000_000, "output_until": HALF_PAST}
        for name, at in seconds.items()
    }


def reach(plane: Plane, **sinks: object) -> None:
    plane.call("heartbeat", {"state": "running", "reports": [{**report(1, 30), "sinks": sinks}]})


def test_a_gate_waits_for_what_is_complete_and_not_for_the_watermark(plane: Plane) -> None:
    plane.run()
    reach(plane, **sinks(counts=29 * 60))

    assert plane.get(f"{PATH}?past=2026-01-01T00:29:51Z")["passed"] is False
    assert plane.get(f"{PATH}?past=2026-01-01T00:29:00Z")["passed"] is True
    assert plane.get(f"{PATH}?past=2026-01-01T00:29:51Z&by=output")["passed"] is True
    found = plane.get(PATH)
    assert found["watermark"] == HALF_PAST
    assert found["sinks"] == {
        "counts": {
            "complete_until": HALF_PAST - 60_000_000,
            "output_until": HALF_PAST,
            "unknown": None,
            "by_clock": [],
            "held_by": None,
        }
    }


def test_a_shut_gate_says_what_holds_it(plane: Plane) -> None:
    gate, held = f"{PATH}?past=2026-01-01T00:29:51Z", {"reason": "oldest_rows", "remedy": "a row", "source": "clicks"}
    plane.run()
    assert plane.get(gate)["held_by"]["reason"] == "no_epoch"

    known = sinks(counts=29 * 60, hours=10)
    reach(plane, **{name: {**sink, "held_by": {**held, "partition": name}} for name, sink in known.items()})

    assert plane.get(PATH)["held_by"] == {**held, "partition": "hours", "watermark": None, "since": None}
    assert plane.get(gate)["held_by"]["partition"] == "hours"
    assert plane.get(f"{gate}&table=counts")["held_by"]["partition"] == "counts"
    assert plane.get(f"{PATH}?past=2026-01-01T00:00:10Z")["held_by"] is None, "it is open"
    plane.end("failed", {"code": "sql.x", "message": "no"})
    assert plane.get(gate)["held_by"]["reason"] == "not_running"


def test_a_gate_waits_for_all_sinks_or_for_the_one_that_is_named(plane: Plane) -> None:
    plane.run()
    reach(plane, **sinks(counts=29 * 60, hours=60))

    assert plane.get(f"{PATH}?past=2026-01-01T00:29:00Z")["passed"] is False
    assert plane.get(f"{PATH}?past=2026-01-01T00:29:00Z&table=counts")["passed"] is True
    refused = plane.http.get(f"/api/v1{PATH}?past=2026-01-01T00:29:00Z&table=hour")
    assert (refused.status_code, refused.json()["code"]) == (404, "pipeline.no_such_sink")
    assert plane.get("/pipelines/orders")["complete_until"] == int(T0.timestamp() + 60) * 1_000_000
    assert set(plane.job()["sinks"]) == {"counts", "hours"}


def test_a_gate_on_what_can_never_be_known_is_refused(plane: Plane) -> None:
    plane.run()
    reach(plane, visits={"complete_until": None, "output_until": HALF_PAST, "unknown": "it is made of sessions"})

    refused = plane.http.get(f"/api/v1{PATH}?past=2026-01-01T00:29:00Z&timeout_seconds=30")

    assert (refused.status_code, refused.json()["code"]) == (409, "pipeline.completeness_unknown")
    assert plane.get(f"{PATH}?past=2026-01-01T00:29:00Z&by=output")["passed"] is True
    plane.end("finished")
    assert plane.get(f"{PATH}?past=2026-01-01T00:29:00Z")["passed"] is True
