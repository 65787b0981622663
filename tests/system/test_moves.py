"""A pipeline moves between two control planes, one of which dies at a step: it runs in one place or the other."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.cli.base import Json
from engine.cli.main import main
from engine.cli.remote import rows_of
from engine.delivery.faults import ALLOWED, ARMED
from engine.jobs.fault_points import TransferPoint
from engine.jobs.processes import processes
from tests.dag_runs import play
from tests.system.conftest import Served, until

HERE = (
    TransferPoint.AFTER_LEAVING,
    TransferPoint.AFTER_STATE_OUT,
    TransferPoint.AFTER_RELEASE,
    TransferPoint.AFTER_OVER,
)
"""The points at which the control plane dies that a pipeline leaves."""


@pytest.fixture
def planes(tmp_path: Path) -> Iterator[tuple[Served, Served]]:
    both = (Served(tmp_path / "a"), Served(tmp_path / "b"))
    for plane in both:
        plane.data_dir.mkdir()
    yield both
    for plane in both:
        plane.close()


def move(here: Served, there: Served, place: Path, *more: str) -> int:
    """The command, with the name of the pipeline and both addresses."""
    to = ["--to", there.client.url, "--to-token", there.client.token, "--via", place.as_uri()]
    return main(["move", "orders", "--url", here.client.url, "--token", here.client.token, *to, *more])


def is_up(plane: Served, pipeline_id: str) -> bool:
    """Whether a driver of the pipeline is alive there."""
    return processes.is_locked(plane.lock(pipeline_id))


def fault(plane: Served) -> Path:
    """The file that names the point at which it dies."""
    return plane.data_dir.with_suffix(".fault")


def start(plane: Served, patch: pytest.MonkeyPatch) -> Served:
    """Start a control plane that can be told to die."""
    with patch.context() as armed:
        armed.setenv(ARMED, f"@{fault(plane)}")
        armed.setenv(ALLOWED, "1")
        return plane.start()


def arm(plane: Served, point: str) -> Served:
    """Have the control plane die at that point."""
    fault(plane).write_text(point)
    return plane


def buried(plane: Served) -> Served:
    """The control plane, which has died as it was told."""
    assert plane.process is not None
    assert plane.process.wait(60) == -signal.SIGKILL
    plane.process = None
    return plane


def test_a_move_that_is_killed_at_any_step_goes_on_and_never_runs_in_two_places(
    planes: tuple[Served, Served], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = (start(plane, monkeypatch) for plane in planes)
    pipeline = here.deploy(says="-- pace: 100")
    pipeline_id, run = pipeline["id"], 1
    here.until_epoch(2)
    for number, point in enumerate(TransferPoint):
        dying = arm(here if point in HERE else there, point)
        place = tmp_path / f"place-{number}"

        assert move(here, there, place) == 3, point
        buried(dying)
        # with one of the two dead, only where the pipeline may be is anything of it alive
        is_given = point in (TransferPoint.AFTER_RELEASE, TransferPoint.AFTER_START, TransferPoint.AFTER_OVER)
        assert not is_up(there, pipeline_id) or is_given
        assert not is_up(here, pipeline_id) or point is TransferPoint.AFTER_LEAVING
        reached = count(here, pipeline)
        start(dying, monkeypatch)

        assert move(here, there, place) == 0, point
        assert not is_up(here, pipeline_id)
        job = there.until(state="Running")
        assert there.client.get("/pipelines/orders")["id"] == pipeline_id  # type: ignore[call-overload]
        # its generation goes on, so that sinks know the run as the newest; and so does what it counts
        assert job["run_id"] > run
        run = job["run_id"]
        assert there.until_epoch(reached + 1)["epoch"] > reached
        assert move(here, there, place) == 0
        assert main(["start", "orders", "--url", here.client.url, "--token", here.client.token]) == 2
        here.client.send("DELETE", "/pipelines/orders", None)
        until((here.data_dir / "state" / pipeline_id).exists, lambda is_there: not is_there)
        here, there = there, here


def count(plane: Served, pipeline: dict[str, Any]) -> int:
    """How far the pipeline has counted where it stood."""
    path = plane.data_dir / "state" / pipeline["id"]
    return plane.count({"state_dir": str(path)})["epoch"]


def test_move_refused_by_the_destination_stops_nothing_and_a_move_is_cancelled(
    planes: tuple[Served, Served], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here, there = (start(plane, monkeypatch) for plane in planes)
    pipeline_id = here.deploy()["id"]
    there.deploy(stop="checkpoint")
    here.until_epoch(2)

    assert move(here, there, tmp_path / "place") == 2

    assert "there is a pipeline 'orders' already" in capsys.readouterr().err
    assert here.job()["run_id"] == 1
    assert here.client.get("/pipelines/orders/departure") == {"data": [], "has_more": False, "hasMore": False}
    there.client.send("DELETE", "/pipelines/orders", None)
    arm(there, TransferPoint.AFTER_ARRIVAL)
    assert move(here, there, tmp_path / "place") == 3
    assert move(here, start(buried(there), monkeypatch), tmp_path / "place", "--take-back") == 0

    here.until(state="Running", run_id=2)
    assert there.client.get("/pipelines")["data"] == []  # type: ignore[call-overload]
    assert not is_up(there, pipeline_id)
    # two at once: it is taken back here while it comes there, where nobody has the key to it any more
    body: dict[str, Json] = {"to": there.client.url, "place": (tmp_path / "other").as_uri()}
    here.client.send("POST", "/pipelines/orders/departure", body)
    here.until(state="Stopped")
    departure = here.client.send("POST", "/pipelines/orders/departure/export", None)
    assert isinstance(departure, dict)
    request = {"passport": departure["passport"], "place": body["place"], "origin": here.client.url}
    there.client.send("POST", "/arrivals", request)
    here.client.send("DELETE", "/pipelines/orders/departure", None)
    here.until(state="Running", run_id=3)
    assert move(here, there, tmp_path / "place") == 2
    assert "in an earlier move that was taken back" in capsys.readouterr().err
    assert move(here, there, tmp_path / "place", "--take-back") == 0
    assert there.client.get("/pipelines")["data"] == []  # type: ignore[call-overload]
    assert move(here, there, tmp_path / "place", "--take-back") == 2
    assert move(here, there, tmp_path / "place") == 0
    there.until(state="Running", run_id=4)
    # it has begun to work there, so its sinks may have rows that nobody knows of here
    assert move(here, there, tmp_path / "place", "--take-back") == 2


def test_the_example_moves_a_pipeline_from_one_control_plane_to_the_other(
    planes: tuple[Served, Served], tmp_path: Path
) -> None:
    here, there = (plane.start() for plane in planes)
    names = {"AIRFLOW_CONN_ARROYO_DEFAULT": here, "AIRFLOW_CONN_ARROYO_OTHER": there}
    connections = {
        name: json.dumps({"conn_type": "arroyo", "host": plane.client.url, "password": plane.client.token})
        for name, plane in names.items()
    }

    run = play("move_to_another_control_plane", tmp_path / "home", connections, {"via": (tmp_path / "place").as_uri()})

    assert set(run.states.values()) == {"success"}
    moved = run.returned["move"]
    assert (moved["name"], moved["to"]) == ("moving_clicks", there.client.url)
    [pipeline] = rows_of(there.client.get("/pipelines"))
    assert (pipeline["id"], pipeline["state"]) == (moved["pipeline_id"], "Stopped")
    [departure] = rows_of(here.client.get("/pipelines/moving_clicks/departure"))
    assert departure["step"] == "over"
    assert there.client.token not in run.output
