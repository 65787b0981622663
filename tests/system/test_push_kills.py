"""A control plane that is killed at each place of a push has each minute be one event in the end, in order."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from engine.delivery.faults import ALLOWED, ARMED
from engine.jobs.fault_points import PushPoint
from tests.api.stand_in_airflow import StandInAirflow
from tests.system.conftest import Served, until
from tests.system.fake_driver import BEGIN

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]
MINUTES = 12


class Handler(BaseHTTPRequestHandler):
    """An Airflow in memory, over HTTP."""

    airflow: StandInAirflow
    guard: threading.Lock

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["content-length"])))

    def _answer(self, body: bytes) -> None:
        request = httpx.Request(self.command, f"http://localhost{self.path}", headers=dict(self.headers), content=body)
        with self.guard:
            answer = self.airflow.answer(request)
        self.send_response(answer.status_code)
        self.send_header("content-length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def airflow() -> Iterator[tuple[StandInAirflow, str]]:
    """An Airflow, and its URL."""
    stand_in = StandInAirflow()
    handler = type("Bound", (Handler,), {"airflow": stand_in, "guard": threading.Lock()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield stand_in, f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_each_minute_is_one_event_wherever_the_control_plane_is_killed(
    plane: Served, airflow: tuple[StandInAirflow, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in, url = airflow
    armed = tmp_path / "armed"
    monkeypatch.setenv(ARMED, f"@{armed}")
    monkeypatch.setenv(ALLOWED, "1")
    monkeypatch.setenv("ARROYO_NET_ALLOW", "127.0.0.1")
    plane.start().deploy()
    body: Any = {
        "pipeline": "orders",
        "every": "1 minute",
        "start": BEGIN.isoformat(),
        "until": (BEGIN + MINUTES * timedelta(minutes=1)).isoformat(),
        "push": {"url": url, "asset": "hours"},
    }
    armed.write_text(PushPoint.AFTER_POST)

    plane.client.send("PUT", "/partitions/minutes", body)
    for point in (PushPoint.BEFORE_POST, PushPoint.AFTER_ACK, None):
        assert plane.process is not None
        assert plane.process.wait(120) == -signal.SIGKILL
        plane.process = None
        plane.start()
        if point is not None:
            armed.write_text(point)

    def consumer() -> Any:
        return plane.client.get("/partitions/minutes")

    done = until(consumer, lambda seen: seen["acked"] == MINUTES)
    expected = [f"{BEGIN + number * timedelta(minutes=1):%Y-%m-%dT%H:%M:%S}" for number in range(MINUTES)]
    assert [event["partition_key"] for event in stand_in.events] == expected
    assert [event["extra"]["sequence"] for event in stand_in.events] == list(range(1, MINUTES + 1))
    assert (done["push"]["waiting"], done["push"]["error"]) == (0, None)
    assert stand_in.posted() == MINUTES, "what was in doubt was looked for"
