"""A pipeline goes wholly, also when the control plane dies half way, and its savepoints only when that is said."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.control import deletions
from engine.jobs.processes import processes
from engine.jobs.processes.left_by_drivers import note_java
from engine.store.pipelines.deletions import pending
from tests.api.conftest import Plane
from tests.system.conftest import until

BASE = "/api/v1/pipelines/orders"


def stopped(plane: Plane) -> list[Path]:
    """A pipeline that is stopped, and its directories."""
    pipeline = plane.run()
    plane.http.patch(BASE, json={"stop": "force"})
    plane.settle()
    directory = plane.context.directory
    folders = [directory.state(pipeline["id"]), directory.runs(pipeline["id"])]
    for folder in folders:
        (folder / "some").mkdir(parents=True)
    return folders


def test_a_deleted_pipeline_leaves_no_directory(plane: Plane) -> None:
    folders = stopped(plane)

    assert plane.http.delete(BASE).status_code == 204

    assert not any(folder.exists() for folder in folders)
    assert plane.http.delete(BASE).status_code == 404
    with plane.context.database.reading() as connection:
        assert pending(connection) == []


def test_directories_go_once_nobody_works_on_the_state_any_more(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletions, "_PAUSE", 0.01)
    folders = stopped(plane)
    lock = processes.try_lock(folders[1] / "lock")
    assert lock is not None

    assert plane.http.delete(BASE).status_code == 204
    assert all(folder.exists() for folder in folders)
    lock.close()

    until(lambda: [folder for folder in folders if folder.exists()], lambda there: not there, 60)


HANGS = """
import os, pathlib, signal, sys
from engine.jobs.processes import processes
from engine.jobs.processes.left_by_drivers import note_java
lock = processes.try_lock(pathlib.Path(sys.argv[1]))
os.kill(os.getpid(), signal.SIGSTOP)
"""


def test_work_that_hangs_does_not_keep_a_deleted_pipeline(plane: Plane) -> None:
    folders = stopped(plane)
    mark = {processes.MARK: processes.maintenance_mark(folders[1].name)}
    work = subprocess.Popen([sys.executable, "-c", HANGS, str(folders[1] / "lock")], env={**os.environ, **mark})
    until(lambda: processes.stat_fields(Path(f"/proc/{work.pid}"))[0], lambda state: state == "T")

    assert plane.http.delete(BASE).status_code == 204

    until(lambda: any(folder.exists() for folder in folders), lambda exists: not exists)
    assert work.wait(60) == -signal.SIGKILL


def test_a_java_whose_host_and_driver_were_killed_is_ended_before_its_directories_go(plane: Plane) -> None:
    """Else it would write into them, where nothing is written down of it any more."""
    folders = stopped(plane)
    java = subprocess.Popen(["sleep", "60"])
    (folders[1] / "lock").touch()
    note_java(folders[1] / "lock", java.pid)

    assert plane.http.delete(BASE).status_code == 204

    assert java.wait() == -signal.SIGKILL
    assert not any(folder.exists() for folder in folders)


def test_interrupted_deletion_is_completed_at_the_next_start(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = stopped(plane)

    def die(*_: Any) -> None:
        raise OSError("the power goes")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", die)
        assert plane.http.delete(BASE).status_code == 204
    assert all(folder.exists() for folder in folders)
    assert plane.http.get(BASE).status_code == 404
    assert plane.deploy()["state_dir"] != str(folders[0])

    deletions.resume(plane.context)
    plane.context.workers.shutdown()

    assert not any(folder.exists() for folder in folders)
    with plane.context.database.reading() as connection:
        assert pending(connection) == []


def test_savepoints_are_deleted_only_when_that_is_said(plane: Plane) -> None:
    plane.run()
    plane.http.post(f"{BASE}/savepoints")
    plane.http.patch(BASE, json={"stop": "force"})
    plane.settle()

    refused = plane.http.delete(BASE)

    assert (refused.status_code, refused.json()["code"]) == (409, "savepoint.kept")
    assert refused.json()["allowed_by"] == "with_savepoints"
    assert "has 1 savepoint, which" in refused.json()["detail"]
    assert len(plane.get("/pipelines/orders/savepoints")["data"]) == 1
    assert plane.http.delete(f"{BASE}?with_savepoints=true").status_code == 204


def test_a_savepoint_that_failed_keeps_no_pipeline(plane: Plane) -> None:
    plane.run()
    plane.http.post(f"{BASE}/savepoints", json={"label": "broken"})
    plane.http.patch(BASE, json={"stop": "force"})
    plane.settle()

    assert plane.http.delete(BASE).status_code == 204
