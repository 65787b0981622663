"""A driver and a control plane that answers what the test says."""

from __future__ import annotations

import errno
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any

import pytest

from engine.checkpoints.layout import StatePaths
from engine.checkpoints.lineage import Lineage, write_lineage
from engine.driver import control_plane_client
from engine.driver.control_plane_client import Home, StopMode
from engine.driver.main import drive
from engine.errors import UnreadableStateError
from engine.jobs.decisions.status import Failure, Goodbye
from engine.jobs.processes.left_by_drivers import left_goodbye
from engine.jobs.processes.process_usage import ProcessUsage, RunUsage
from engine.jobs.processes.runner import Holder
from engine.values.epoch_report import EpochReport
from engine.values.start_positions import StartStep
from tests.jobs.builders import T0, assigned
from tests.jobs.test_driver import FailingWork


class FakeControlPlane:
    """Notes the calls of drivers, and answers what a test says."""

    def __init__(self, server_file: Path) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.answer: dict[str, Any] = {"orders": [], "superseded": False}
        self.is_refusing = False
        self.status: Callable[[str], int] = lambda _: 500 if self.is_refusing else 200
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server_file = server_file
        self.come_up()
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def come_up(self) -> None:
        self.server_file.write_text(json.dumps({"url": f"http://127.0.0.1:{self.server.server_address[1]}"}))

    def bodies_of(self, call_name: str) -> list[dict[str, Any]]:
        return [body for path, body in self.calls if path.endswith(call_name)]

    def until(self, call_name: str, times: int = 1) -> None:
        end, pause = time.monotonic() + 120, threading.Event()
        while len(self.bodies_of(call_name)) < times:
            assert time.monotonic() < end, self.calls
            pause.wait(0.005)

    def _handler(control_plane) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                control_plane.calls.append((self.path, {**body, "token": self.headers["Authorization"]}))
                content = json.dumps(control_plane.answer).encode()
                self.send_response(control_plane.status(self.path))
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


@pytest.fixture
def control_plane(tmp_path: Path) -> Iterator[FakeControlPlane]:
    fake = FakeControlPlane(tmp_path / "server.json")
    yield fake
    fake.server.shutdown()
    fake.server.server_close()


class Driver:
    """A home, and what it was made to do."""

    def __init__(self, control_plane: FakeControlPlane, lease: float = 600, stuck: float = 60) -> None:
        self.stops: list[StopMode] = []
        self.dumps: list[int] = []
        self.ended = threading.Event()
        assignment = assigned(
            control_plane.server_file.parent, heartbeat_seconds=0.02, lease_seconds=lease, stuck_seconds=stuck
        )
        self.home = Home(assignment, self.stops.append, self.ended.set, lambda: self.dumps.append(1))


def epoch(number: int) -> EpochReport:
    return EpochReport(
        epoch=number,
        rows_in=1,
        rows_out=1,
        rows_per_second=1.0,
        duration=timedelta(milliseconds=5),
        watermark=T0,
        source_watermarks={"t": None},
        at=T0,
    )


def test_a_driver_says_hello_keeps_calling_and_says_goodbye(control_plane: FakeControlPlane) -> None:
    driver = Driver(control_plane)
    driver.home.open()
    driver.home.started()
    control_plane.until("heartbeat", 2)

    driver.home.close(Goodbye("failed", Failure("sql.x", "no", "try")))

    assert control_plane.calls[0][0] == "/api/v1/runs/job_a/3/hello"
    assert {body["token"] for _, body in control_plane.calls} == {"Bearer secret"}
    assert control_plane.bodies_of("heartbeat")[-1]["state"] == "running"
    assert control_plane.bodies_of("goodbye")[0]["error"] == {
        "code": "sql.x",
        "message": "no",
        "hint": "try",
        "cause": "mistake",
    }


def test_every_epoch_is_reported_even_if_the_control_plane_was_away(control_plane: FakeControlPlane) -> None:
    driver = Driver(control_plane)
    driver.home.open()
    control_plane.is_refusing = True
    driver.home.report(epoch(1))
    before = len(control_plane.calls)
    control_plane.until("heartbeat", before + 2)
    control_plane.is_refusing = False
    driver.home.report(epoch(2))

    driver.home.close(Goodbye("stopped"))

    epochs = [
        report["epoch"]
        for call_name in ("heartbeat", "goodbye")
        for body in control_plane.bodies_of(call_name)
        for report in body["reports"]
    ]
    assert {1, 2} <= set(epochs)


def test_resource_use_of_the_run_is_measured_periodically(
    control_plane: FakeControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driver(control_plane)
    looks: list[int] = []

    def measure() -> RunUsage:
        looks.append(1)
        return {"driver": ProcessUsage(1.5, 20), "java": ProcessUsage(float(len(looks)), 30)}

    driver.home.measure = measure
    driver.home.open()
    control_plane.until("heartbeat", 4)
    driver.home.close(Goodbye("stopped"))

    used = {"driver": {"cpu_seconds": 1.5, "memory_bytes": 20}, "java": {"cpu_seconds": 1.0, "memory_bytes": 30}}
    assert [body["usage"] for body in control_plane.bodies_of("heartbeat")[:4]] == [used, None, None, None]

    again = Driver(control_plane)
    monkeypatch.setattr(control_plane_client, "_USAGE_INTERVAL", 0.0)
    again.home.measure = measure
    count = len(control_plane.bodies_of("heartbeat"))
    again.home.open()
    control_plane.until("heartbeat", count + 2)
    again.home.close(Goodbye("stopped"))

    assert all(body["usage"] for body in control_plane.bodies_of("heartbeat")[count : count + 2])


def test_heartbeats_go_on_when_the_use_of_the_machine_cannot_be_measured(
    control_plane: FakeControlPlane, caplog: pytest.LogCaptureFixture
) -> None:
    driver = Driver(control_plane)

    def measure() -> RunUsage:
        raise ValueError("nobody has thought of this")

    driver.home.measure = measure
    driver.home.open()
    control_plane.until("heartbeat", 2)
    driver.home.close(Goodbye("stopped"))

    assert "nobody has thought of this" in caplog.text


def test_signs_of_life_are_counted_and_the_step_of_the_start_is_said(control_plane: FakeControlPlane) -> None:
    driver = Driver(control_plane)
    driver.home.open()
    driver.home.sign(StartStep.PLANNING)
    control_plane.until("heartbeat", 2)
    assert (control_plane.bodies_of("heartbeat")[-1]["step"], control_plane.bodies_of("heartbeat")[-1]["state"]) == (
        "planning",
        "starting",
    )
    before = control_plane.bodies_of("heartbeat")[-1]["signs"]

    driver.home.sign(StartStep.FIRST_EPOCH)
    driver.home.sign()
    driver.home.report(epoch(0))
    driver.home.close(Goodbye("stopped"))

    signs = [body["signs"] for body in control_plane.bodies_of("heartbeat")]
    assert signs == sorted(signs)
    assert driver.home._signs == before + 3


def test_a_driver_whose_work_is_stuck_writes_its_stacks_down_once(control_plane: FakeControlPlane) -> None:
    driver = Driver(control_plane, stuck=0.05)
    driver.home.open()
    control_plane.until("heartbeat", 5)
    assert driver.dumps == []  # while it starts, the control plane waits for longer

    driver.home.sign(StartStep.FIRST_EPOCH)
    control_plane.until("heartbeat", len(control_plane.bodies_of("heartbeat")) + 10)
    driver.home.close(Goodbye("stopped"))

    assert driver.dumps == [1]


@pytest.mark.parametrize(
    ("mode", "obeyed"), [("graceful", "graceful"), ("checkpoint",) * 2, ("immediate",) * 2, ("dance", "checkpoint")]
)
def test_orders_are_obeyed(control_plane: FakeControlPlane, mode: str, obeyed: str) -> None:
    driver = Driver(control_plane)
    control_plane.answer = {"orders": [{"kind": "stop", "mode": mode}, {"kind": "dance"}], "superseded": False}

    driver.home.open()
    driver.home.close(Goodbye("stopped"))

    assert driver.stops[0] == obeyed
    assert set(driver.stops) == {obeyed}


def test_a_superseded_driver_ends_at_once(control_plane: FakeControlPlane) -> None:
    driver = Driver(control_plane)
    control_plane.answer = {"superseded": True}

    driver.home.open()

    assert driver.ended.wait(60)
    driver.home.close(Goodbye("stopped"))


def test_a_driver_whose_lease_is_over_stops_by_itself(control_plane: FakeControlPlane) -> None:
    driver = Driver(control_plane, lease=0.05)
    control_plane.is_refusing = True

    driver.home.open()
    control_plane.until("heartbeat", 3)
    driver.home.close(Goodbye("stopped"))

    assert "checkpoint" in driver.stops
    assert not driver.ended.is_set()


@pytest.mark.parametrize(("status", "tries"), [(503, 6), (409, 1)])
def test_a_goodbye_is_said_again_for_as_long_as_a_control_plane_cannot_take_it(
    control_plane: FakeControlPlane, monkeypatch: pytest.MonkeyPatch, status: int, tries: int
) -> None:
    monkeypatch.setattr(control_plane_client, "_PATIENCE", 0.0)
    monkeypatch.setattr(control_plane_client, "_PAUSE", 0.0)
    driver, calls = Driver(control_plane), control_plane.calls
    control_plane.status = lambda path: status if path.endswith("goodbye") and len(calls) < 6 else 200

    driver.home.close(Goodbye("failed", Failure("data.disk_full", "no room")))

    assert [path.rpartition("/")[2] for path, _ in calls] == ["goodbye"] * tries


@pytest.mark.parametrize(("refusals", "left"), [(3, ["failed"]), (1, [])], ids=["never heard", "heard in the end"])
def test_a_goodbye_that_nobody_has_heard_is_left_behind(
    control_plane: FakeControlPlane, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, refusals: int, left: list[str]
) -> None:
    monkeypatch.setattr(control_plane_client, "_PATIENCE", 0.0)
    monkeypatch.setattr(control_plane_client, "_PAUSE", 0.0)
    driver = Driver(control_plane, lease=0.0 if left else 600)
    control_plane.status = lambda _: 503 if len(control_plane.calls) <= refusals else 200

    driver.home.report(epoch(7))
    driver.home.close(Goodbye("failed", Failure("data.disk_full", "no room")))

    words = [left_goodbye(tmp_path / "lock", 3)] if list(tmp_path.glob("*.goodbye")) else []
    assert [word["outcome"] for word in words] == left
    for word in words:
        assert word == {name: control_plane.calls[-1][1][name] for name in ("outcome", "error", "reports", "late")}


def test_a_lease_goes_on_while_the_control_plane_has_no_room_for_what_it_hears(control_plane: FakeControlPlane) -> None:
    driver = Driver(control_plane, lease=0.5)
    control_plane.status = lambda path: 503 if path.endswith("heartbeat") else 200

    driver.home.open()
    control_plane.until("heartbeat", 40)
    driver.home.close(Goodbye("stopped"))

    assert driver.stops == []


def test_a_driver_that_cannot_write_its_name_down_says_so_and_does_nothing(
    control_plane: FakeControlPlane, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def write(_: Holder, __: IO[str]) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Holder, "write", write)
    assignment = Driver(control_plane).home.assignment.model_copy(update={"lock": tmp_path / "lock"})

    assert drive(assignment, FailingWork(AssertionError())) == 3

    (goodbye,) = control_plane.bodies_of("goodbye")
    assert (goodbye["error"]["code"], goodbye["error"]["cause"]) == ("data.disk_full", "outage")


@pytest.mark.parametrize("damaged", ["lineage.json", "late/7"])
def test_a_damaged_state_is_left_to_the_work_which_says_what_is_wrong(
    control_plane: FakeControlPlane, damaged: str
) -> None:
    assignment = Driver(control_plane).home.assignment
    write_lineage(StatePaths(assignment.state_dir).lineage, Lineage("a"))
    (assignment.state_dir / "late").mkdir()
    (assignment.state_dir / damaged).write_text("{")

    assert drive(assignment, FailingWork(UnreadableStateError("damaged"))) == 3

    assert len(control_plane.bodies_of("hello")) == 1
    (goodbye,) = control_plane.bodies_of("goodbye")
    assert goodbye["error"]["code"] == UnreadableStateError.code


def test_a_control_plane_that_has_moved_is_found_again(control_plane: FakeControlPlane) -> None:
    driver = Driver(control_plane)
    control_plane.server_file.write_text(json.dumps({"url": "http://127.0.0.1:9"}))
    driver.home.open()
    assert control_plane.calls == []

    control_plane.come_up()

    control_plane.until("heartbeat")
    driver.home.close(Goodbye("finished"))
