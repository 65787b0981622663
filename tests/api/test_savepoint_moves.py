"""Savepoints are exported from one pipeline and imported into another."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from engine.checkpoints import relocate
from engine.checkpoints.lineage import Lineage, write_lineage
from engine.checkpoints.manifest import Origin, SavedFile, read_manifest, write_manifest
from engine.checkpoints.swap import MovePoint
from engine.cli.main import main
from engine.control.caretaker import Caretaker
from engine.control.savepoints import savepoint_removal
from engine.delivery.faults import ALLOWED, ARMED
from engine.jobs.disk import DataDirectory
from engine.store import savepoints
from engine.store.database import open_database
from tests.api import import_that_dies
from tests.api.conftest import Plane
from tests.api.removal_that_dies import SAVEPOINT, context_of
from tests.api.stand_in_server import StandInServer
from tests.api.test_savepoint_removal import BASE, code_of, ids
from tests.api.test_savepoint_tasks import NOW, saved, saved_with_a_file
from tests.api.test_savepoints import PATH
from tests.system.conftest import until

__all__ = ["saved"]
OTHER = "/api/v1/pipelines/clicks/savepoints"


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that is not the control plane's."""
    return tmp_path_factory.mktemp("elsewhere") / "sp_1"


def exported(plane: Plane, saved: dict[str, Any], place: Path) -> None:
    answer = plane.http.post(f"{BASE}/{saved['id']}/export", json={"place": place.as_uri()})
    assert (answer.status_code, answer.json()["task"]["state"]) == (200, "done"), answer.text


def test_a_savepoint_is_restored_in_another_pipeline(plane: Plane, saved: dict[str, Any], place: Path) -> None:
    exported(plane, saved, place)
    plane.run("clicks", query="SELECT 1")

    answer = plane.http.post(f"{OTHER}/import", json={"place": place.as_uri(), "label": "from orders"})

    assert answer.status_code == 200, answer.text
    brought = answer.json()["savepoint"]
    assert (brought["state"], brought["epoch"], brought["label"], brought["bytes"]) == (
        "completed",
        7,
        "from orders",
        4,
    )
    assert (brought["pinned"], brought["verified_at"], brought["version"]) == (True, NOW, 1)
    assert brought["reason"] == f"imported from {place.as_uri()}"
    assert plane.get("/pipelines/clicks/savepoints")["data"] == [brought]
    assert plane.get(f"/pipelines/clicks/savepoint-imports/{brought['id']}")["task"]["state"] == "done"
    assert read_manifest(Path(brought["path"])).label is None
    body = {"savepoint_id": brought["id"], "allow_replay": True}
    assert plane.http.post("/api/v1/pipelines/clicks/restore", json=body).status_code == 202
    told = [event["message"] for event in plane.get("/pipelines/orders/events")["data"]]
    assert f"savepoint {saved['id']} is exported: 1 files are at {place.as_uri()}" in told


def said(plane: Plane, saved: dict[str, Any], origin: Origin, **pipeline: object) -> None:
    """The savepoint says of which script it is, and what its state is bound to besides."""
    folder = Path(saved["path"])
    content = json.dumps(pipeline).encode()
    (folder / "pipeline.json").write_bytes(content)
    told = SavedFile("pipeline.json", len(content), hashlib.sha256(content).hexdigest())
    manifest = read_manifest(folder)
    files = (*manifest.files, told)
    write_manifest(folder, replace(manifest, sql="SELECT 1 INTO a", origin=origin, files=files))


def imported(plane: Plane, saved: dict[str, Any], place: Path) -> dict[str, Any]:
    exported(plane, saved, place)
    answer = plane.http.post(f"{BASE}/import", json={"place": place.as_uri()})
    savepoint: dict[str, Any] = answer.json()["savepoint"]
    assert read_manifest(Path(savepoint["path"])).origin.version == savepoint["version"]
    return savepoint


def test_a_savepoint_that_comes_back_is_of_the_version_with_its_own_script(plane: Plane, place: Path) -> None:
    saved = saved_with_a_file(plane, query="SELECT 1 INTO a")
    plane.deploy(query="SELECT 1 INTO b")
    said(plane, saved, Origin())

    assert imported(plane, saved, place)["version"] == 1


@pytest.mark.parametrize(("history", "version"), [("one", 1), ("three", 2)])
def test_imported_savepoint_has_the_version_whose_settings_it_was_taken_with(
    plane: Plane, place: Path, history: str, version: int
) -> None:
    saved = saved_with_a_file(plane, query="SELECT 1 INTO a")
    plane.deploy(query="SELECT 1 INTO a", settings={"max_epoch_rows": "5"})
    said(plane, saved, Origin(1))
    lineage = Path(saved["path"]).parents[1] / "lineage.json"
    write_lineage(lineage, Lineage("two", ((history, 7),)))

    assert imported(plane, saved, place)["version"] == version


def test_a_savepoint_with_objects_that_no_version_reads_is_of_none_and_refused(plane: Plane, place: Path) -> None:
    saved = saved_with_a_file(plane, query="SELECT 1", udfs=["# objects 1"])
    said(plane, saved, Origin(1), objects=[["middle", "numpy 1"]])

    brought = imported(plane, saved, place)

    assert brought["version"] is None
    for with_version in (True, False):
        body = {"savepoint_id": brought["id"], "allow_replay": True, "with_version": with_version}
        answer = plane.http.post("/api/v1/pipelines/orders/restore", json=body)
        assert code_of(answer) == (409, "savepoint.other_version")
        assert "other code or packages of functions" in answer.json()["detail"]


def test_an_export_sends_only_what_its_base_has_not(
    plane: Plane, saved: dict[str, Any], place: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    exported(plane, saved, place)
    body = {"place": tmp_path_factory.mktemp("next").as_uri(), "base": place.as_uri()}

    answer = plane.http.post(f"{BASE}/{saved['id']}/export", json=body)

    assert answer.json()["task"]["message"] == f"1 files are at {body['place']}, 1 of them shared with {body['base']}"
    inside = {"place": body["place"], "base": plane.context.directory.root.as_uri()}
    assert code_of(plane.http.post(f"{BASE}/{saved['id']}/export", json=inside))[1] == "savepoint.place"


def test_impossible_export_reports_the_reason_and_changes_nothing(
    plane: Plane, saved: dict[str, Any], place: Path
) -> None:
    (Path(saved["path"]) / "part").write_text("rowz")

    answer = plane.http.post(f"{BASE}/{saved['id']}/export", json={"place": place.as_uri()})

    assert (answer.status_code, answer.json()["task"]["state"]) == (200, "failed")
    assert "part has changed" in answer.json()["task"]["message"]
    assert not place.exists()


def test_an_import_that_fails_leaves_nothing(plane: Plane, saved: dict[str, Any], place: Path) -> None:
    exported(plane, saved, place)
    (place / "part").write_text("rowz")

    answer = plane.http.post(f"{BASE}/import", json={"place": place.as_uri()})

    assert (answer.json()["task"]["state"], answer.json()["savepoint"]) == ("failed", None)
    assert "part has changed" in answer.json()["task"]["message"]
    assert ids(plane) == [saved["id"]]
    assert {entry.name for entry in Path(saved["path"]).parent.iterdir()} == {saved["id"]}
    with plane.context.database.reading() as connection:
        assert savepoints.deleting(connection) == []


def test_an_import_is_not_listed_before_all_of_it_is_here_and_nobody_removes_it(
    plane: Plane, saved: dict[str, Any], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported(plane, saved, place)
    object.__setattr__(plane.context, "settle_wait", plane.context.settle_wait * 0)
    begun, goes_on, whole = Event(), Event(), relocate.import_savepoint

    def wait(*arguments: Any) -> Any:
        begun.set()
        goes_on.wait(60)
        return whole(*arguments)

    monkeypatch.setattr(relocate, "import_savepoint", wait)
    answer = plane.http.post(f"{BASE}/import", json={"place": place.as_uri()})
    assert begun.wait(60)

    assert answer.status_code == 202
    assert ids(plane) == [saved["id"]]
    Caretaker(plane.context).look()
    goes_on.set()
    name = answer.json()["id"]
    until(lambda: plane.get(f"/pipelines/orders/savepoint-imports/{name}")["task"]["state"], lambda s: s == "done")
    assert plane.get(f"{PATH}/{name}")["state"] == "completed"


def test_invalid_export_location_is_refused_immediately(plane: Plane, saved: dict[str, Any]) -> None:
    inside = Path(saved["path"]).as_uri()
    for place in ("/tmp/x", "http://x/y", "s3://bucket", inside, "file:///tmp/../" + inside[8:]):
        for path in (f"{BASE}/{saved['id']}/export", f"{BASE}/import"):
            assert code_of(plane.http.post(path, json={"place": place})) == (409, "savepoint.place"), place
    assert code_of(plane.http.get("/api/v1/pipelines/orders/savepoint-imports/sp_x")) == (404, "savepoint.not_found")


@pytest.mark.parametrize("point", [MovePoint.WHILE_IMPORTING, MovePoint.AFTER_IMPORT], ids=str)
def test_an_import_that_is_killed_leaves_nothing_once_the_control_plane_is_back(
    plane: Plane, saved: dict[str, Any], place: Path, tmp_path_factory: pytest.TempPathFactory, point: MovePoint
) -> None:
    exported(plane, saved, place)
    root = tmp_path_factory.mktemp("killed")
    command = [sys.executable, "-m", import_that_dies.__name__, str(root), place.as_uri()]
    died = subprocess.run(command, env={**os.environ, ARMED: point.value, ALLOWED: "1"}, check=False)
    assert died.returncode == -signal.SIGKILL

    database = open_database(DataDirectory(root))
    context = context_of(root, database)
    with database.reading() as connection:
        assert savepoints.page(connection, SAVEPOINT.pipeline_id, 10) == []
    savepoint_removal.finish_all(context)

    assert list(context.directory.savepoint(SAVEPOINT.pipeline_id, SAVEPOINT.id).parent.iterdir()) == []
    with database.reading() as connection:
        assert savepoints.deleting(connection) == []
    context.workers.shutdown()
    database.close()


def test_the_verbs_say_what_came_of_it(server: StandInServer, capsys: pytest.CaptureFixture[str]) -> None:
    task = {"kind": "import", "at": NOW, "state": "done", "message": "3 files are here"}
    server.answer = json.dumps({"id": "sp_2", "task": task, "savepoint": {"id": "sp_2", "epoch": 7}}).encode()
    connection = ["--url", server.url, "--token", "t"]

    assert main(["savepoint", "import", "orders", "s3://b/x", "--label", "back", *connection]) == 0
    assert main(["savepoint", "export", "orders", "sp_2", "s3://b/x", *connection]) == 0

    said = capsys.readouterr().out
    assert "3 files are here" in said
    bodies = [json.loads(request[3]) for request in server.requests]
    assert bodies == [{"place": "s3://b/x", "label": "back"}, {"place": "s3://b/x"}]
