from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from engine.api.answers import Watermark
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


def test_what_is_no_instant_is_refused(plane: Plane) -> None:
    plane.run()

    assert plane.http.get(f"/api/v1{PATH}?past=soon").json()["code"] == "request.invalid"


def test_the_answer_waits_until_the_watermark_has_passed(plane: Plane) -> None:
    plane.run()
    with ThreadPoolExecutor(1) as threads:
        future = threads.submit(plane.get, f"{PATH}?past={HALF_PAST}&timeout_seconds=30")
        _until_watched(plane)
        plane.call("heartbeat", {"state": "running", "reports": [report(1, 20)]})
        plane.call("heartbeat", {"state": "running", "reports": [report(2, 40)]})

        answer = future.result(timeout=120)

    assert (answer["passed"], answer["epoch"]) == (True, 2)


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


def test_a_finished_job_has_passed_every_instant(plane: Plane) -> None:
    plane.run()
    plane.end("finished")

    assert plane.get(f"{PATH}?past=9000-01-01T00:00:00Z")["passed"] is True


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
