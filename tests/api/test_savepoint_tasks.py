"""Savepoints are verified on demand, and say what was found."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from engine.api.savepoints import savepoint_moves
from engine.checkpoints.manifest import SavedFile, SavepointManifest, write_manifest
from engine.cli.main import main
from engine.control.savepoints import savepoint_tests
from engine.control.savepoints.savepoint_tests import Drills
from engine.errors import DamagedSavepointError, DiskFullError, DriverDiedError
from engine.jobs.disk import DataDirectory
from engine.values.instants import to_micros
from tests.api.conftest import T0, Plane
from tests.api.stand_in_server import StandInServer
from tests.api.test_savepoint_removal import BASE, code_of
from tests.api.test_savepoints import PATH, take
from tests.system.conftest import until

NOW = to_micros(T0)


@pytest.fixture
def saved(plane: Plane) -> dict[str, Any]:
    """A savepoint with a file in it."""
    return saved_with_a_file(plane)


def saved_with_a_file(plane: Plane, **body: Any) -> dict[str, Any]:
    """That of a pipeline which is deployed and runs."""
    plane.run(**body)
    savepoint = take(plane)
    folder = Path(savepoint["path"])
    (folder / "part").write_text("rows")
    part = SavedFile("part", 4, hashlib.sha256(b"rows").hexdigest())
    write_manifest(folder, SavepointManifest(savepoint["id"], None, 7, None, "one", (), 2, "SELECT 1", T0, (part,)))
    return savepoint


def play(plane: Plane, answer: Callable[[Path], str]) -> None:
    object.__setattr__(plane.context, "drill", answer)


def verified(plane: Plane, saved: dict[str, Any], query: str = "") -> dict[str, Any]:
    answer = plane.http.post(f"{BASE}/{saved['id']}/verify{query}")
    assert answer.status_code == 200, answer.text
    content: dict[str, Any] = answer.json()
    return content


def test_a_savepoint_of_which_nobody_has_read_anything_is_not_known_to_be_restorable(
    plane: Plane, saved: dict[str, Any]
) -> None:
    assert (saved["verified_at"], saved["proven_at"], saved["damage"], saved["task"]) == (None, None, None, None)


def test_a_whole_savepoint_says_when_it_was_read(plane: Plane, saved: dict[str, Any]) -> None:
    answer = verified(plane, saved)

    assert (answer["verified_at"], answer["proven_at"], answer["damage"]) == (NOW, None, None)
    assert answer["task"] == {"kind": "verify", "at": NOW, "state": "done", "message": "1 files are whole"}
    assert plane.get(PATH)["data"][0]["verified_at"] == NOW


def test_a_drill_proves_that_it_can_be_restored(plane: Plane, saved: dict[str, Any]) -> None:
    folders: list[Path] = []
    play(plane, lambda folder: folders.append(folder) or "3 rows of 1 operators were read")

    answer = verified(plane, saved, "?drill=true")

    assert folders == [Path(saved["path"])]
    assert (answer["verified_at"], answer["proven_at"], answer["damage"]) == (NOW, NOW, None)
    assert answer["task"]["message"] == "1 files are whole; 3 rows of 1 operators were read"


@pytest.mark.parametrize("content", ["rowz", "row", None])
def test_a_file_that_is_not_as_it_was_is_named(plane: Plane, saved: dict[str, Any], content: str | None) -> None:
    file = Path(saved["path"]) / "part"
    file.unlink() if content is None else file.write_text(content)

    answer = verified(plane, saved)

    fault = "is missing" if content is None else "has changed"
    assert answer["damage"] == f"the savepoint {saved['id']} is damaged: part {fault}"
    assert (answer["verified_at"], answer["task"]["state"]) == (NOW, "failed")
    told = [event for event in plane.get("/pipelines/orders/events")["data"] if event["level"] == "warn"]
    assert [event["message"] for event in told] == [answer["damage"]]


def test_a_savepoint_without_its_manifest_is_damaged(plane: Plane, saved: dict[str, Any]) -> None:
    (Path(saved["path"]) / "manifest.json").unlink()

    assert "there is no savepoint" in verified(plane, saved)["damage"]


def test_damage_found_by_a_restore_test_is_only_cleared_by_a_restore_test(plane: Plane, saved: dict[str, Any]) -> None:
    def fail(_: Path) -> str:
        raise DamagedSavepointError("operator 0 cannot be read")

    play(plane, fail)
    assert verified(plane, saved, "?drill=true")["damage"] == "operator 0 cannot be read"

    assert verified(plane, saved)["damage"] == "operator 0 cannot be read"
    play(plane, lambda _: "all was read")
    assert verified(plane, saved, "?drill=true")["damage"] is None


def test_a_drill_that_cannot_be_played_says_nothing_of_the_savepoint(plane: Plane, saved: dict[str, Any]) -> None:
    def fail(_: Path) -> str:
        raise DiskFullError("the disk is full")

    play(plane, fail)

    answer = verified(plane, saved, "?drill=true")

    assert (answer["verified_at"], answer["proven_at"], answer["damage"]) == (None, None, None)
    assert (answer["task"]["state"], answer["task"]["message"]) == ("failed", "the disk is full")


def test_without_spark_a_drill_is_refused(plane: Plane, saved: dict[str, Any]) -> None:
    assert code_of(plane.http.post(f"{BASE}/{saved['id']}/verify?drill=true"))[0] in (400, 422)


def test_only_a_complete_savepoint_can_be_verified(plane: Plane) -> None:
    plane.run()
    broken = take(plane, "broken")

    assert code_of(plane.http.post(f"{BASE}/{broken['id']}/verify")) == (409, "savepoint.error")
    assert code_of(plane.http.post(f"{BASE}/sp_nothing/verify")) == (404, "savepoint.not_found")


def test_a_savepoint_that_is_read_stays_and_is_read_once(plane: Plane, saved: dict[str, Any]) -> None:
    goes_on, calls = Event(), list[Path]()
    object.__setattr__(plane.context, "settle_wait", plane.context.settle_wait * 0)

    def wait(folder: Path) -> str:
        calls.append(folder)
        goes_on.wait(60)
        return "read"

    play(plane, wait)
    asked = [plane.http.post(f"{BASE}/{saved['id']}/verify?drill=true") for _ in range(2)]
    until(lambda: len(calls), lambda count: count == 1)

    assert [answer.status_code for answer in asked] == [202, 202]
    assert code_of(plane.http.delete(f"{BASE}/{saved['id']}")) == (409, "savepoint.in_use")
    goes_on.set()
    until(lambda: plane.get(f"{PATH}/{saved['id']}")["task"]["state"], lambda state: state == "done")
    assert len(calls) == 1
    assert plane.http.delete(f"{BASE}/{saved['id']}").status_code == 204


def test_a_drill_is_not_answered_by_a_look_that_is_under_way(
    plane: Plane, saved: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = Event()
    object.__setattr__(plane.context, "settle_wait", plane.context.settle_wait * 0)
    play(plane, lambda _: "read")
    verify = savepoint_tests.verify_savepoint

    def wait(*args: Any, **kwargs: Any) -> str:
        goes_on.wait(60)
        return verify(*args, **kwargs)

    monkeypatch.setattr(savepoint_moves, "verify_savepoint", wait)
    assert plane.http.post(f"{BASE}/{saved['id']}/verify").status_code == 202

    assert code_of(plane.http.post(f"{BASE}/{saved['id']}/verify?drill=true")) == (409, "pipeline.busy")
    goes_on.set()
    until(lambda: plane.get(f"{PATH}/{saved['id']}")["task"]["state"], lambda state: state == "done")
    assert plane.http.post(f"{BASE}/{saved['id']}/verify?drill=true").is_success
    until(lambda: plane.get(f"{PATH}/{saved['id']}")["proven_at"], lambda proven_at: proven_at is not None)


class FakeProcess:
    """A drill that ends at once."""

    def __init__(self, code: int, result: dict[str, Any] | None) -> None:
        self.code, self.result = code, result

    def __call__(self, command: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        if self.result is not None:
            Path(command[-1]).write_text(json.dumps(self.result))
        options["stdout"].write(b"first\nlast words\n")
        options["stdout"].flush()
        return subprocess.CompletedProcess(command, self.code)


def test_a_drill_says_what_it_has_read_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", FakeProcess(0, {"rows": 5, "operators": 2}))
    directory = DataDirectory(tmp_path)
    (directory.drills / "of a control plane that has died").mkdir(parents=True)

    assert Drills(directory).play(tmp_path / "sp_1") == "5 rows of 2 operators were read"
    assert not directory.drills.exists()


def test_damage_that_a_drill_finds_is_told_from_a_drill_that_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "run", FakeProcess(0, {"code": "savepoint.damaged", "message": "it is damaged"}))
    with pytest.raises(DamagedSavepointError, match="it is damaged"):
        Drills(DataDirectory(tmp_path)).play(tmp_path / "sp_1")

    monkeypatch.setattr(subprocess, "run", FakeProcess(-9, None))
    with pytest.raises(DriverDiedError, match="exit code -9: last words"):
        Drills(DataDirectory(tmp_path)).play(tmp_path / "sp_1")


def test_the_list_says_what_can_be_restored(server: StandInServer, capsys: pytest.CaptureFixture[str]) -> None:
    base = {"state": "completed", "created_at": NOW}
    rows = [
        {**base, "id": "a", "proven_at": NOW, "verified_at": NOW},
        {**base, "id": "b", "verified_at": NOW},
        {**base, "id": "c"},
        {**base, "id": "d", "damage": "part has changed", "proven_at": NOW, "pinned": True},
        {"id": "e", "state": "failed"},
    ]
    server.answer = json.dumps({"data": rows, "has_more": False}).encode()

    assert main(["savepoints", "orders", "--url", server.url, "--token", "t"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert "proven 2026-01-01T00:00:00.000Z" in lines[1]
    assert "whole 2026-01-01T00:00:00.000Z" in lines[2]
    assert "not verified" in lines[3]
    assert "damaged: part has changed" in lines[4]
    assert "not verified" not in lines[5]


@pytest.mark.parametrize(("state", "code"), [("done", 0), ("failed", 3)])
def test_the_verb_says_what_came_of_it(
    server: StandInServer, capsys: pytest.CaptureFixture[str], state: str, code: int
) -> None:
    task = {"kind": "verify", "at": NOW, "state": state, "message": "what came of it"}
    server.answer = json.dumps({"id": "sp_1", "state": "completed", "task": task}).encode()

    assert main(["savepoint", "verify", "orders", "sp_1", "--drill", "--url", server.url, "--token", "t"]) == code

    assert "what came of it" in capsys.readouterr().out
    assert server.requests[0][1] == "/api/v1/pipelines/orders/savepoints/sp_1/verify?drill=true"
