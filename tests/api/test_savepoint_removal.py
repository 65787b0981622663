"""Savepoints go wholly or stay, by request and by policy, and nothing goes that somebody needs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from httpx import Response

from engine.cli.main import main
from engine.control.caretaker import Caretaker
from engine.control.savepoints import savepoint_removal
from engine.control.savepoints.savepoint_use import holding
from engine.control.upgrades.plan_restore import plan_restore
from engine.delivery.faults import ALLOWED, ARMED
from engine.errors import SavepointError, SavepointNotFoundError
from engine.jobs.decisions.spec import ShownUpgrade
from engine.jobs.disk import DataDirectory
from engine.jobs.fault_points import SavepointPoint
from engine.store import savepoints
from engine.store.database import open_database
from engine.store.jobs.records import read_record
from engine.store.pipelines import pipelines
from engine.store.savepoints import Savepoint
from tests.api import removal_that_dies
from tests.api.conftest import T0, Plane, report
from tests.api.test_savepoints import PATH, take
from tests.api.test_upgrades import let_savepoints_settle

BASE = f"/api/v1{PATH}"
RETENTION = "/api/v1/pipelines/orders/savepoint-retention"
SHOWN = ShownUpgrade("plan_1", "SELECT 1", False, True, "kept\n", "| kept |\n", '{"verdicts": []}')


def ids(plane: Plane) -> list[str]:
    """The savepoints that are listed, oldest first."""
    return [str(savepoint["id"]) for savepoint in plane.get(PATH)["data"]][::-1]


def folders(plane: Plane) -> set[str]:
    pipeline = plane.get("/pipelines/orders")
    return {entry.name for entry in (Path(pipeline["state_dir"]) / "savepoints").iterdir()}


def taken(plane: Plane, count: int, apart: timedelta = timedelta(days=1)) -> list[str]:
    """Savepoints of a running pipeline, some time apart."""
    plane.run()
    names: list[str] = []
    for _ in range(count):
        names.append(take(plane)["id"])
        plane.now += apart
    return names


def code_of(answer: Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def fates_of(answer: Response) -> dict[str, bool]:
    assert answer.is_success, answer.text
    return {fate["id"]: fate["goes"] for fate in answer.json()["fates"]}


def test_a_deleted_savepoint_is_not_there_any_more(plane: Plane) -> None:
    first, second = taken(plane, 2)

    assert plane.http.delete(f"{BASE}/{first}").status_code == 204

    assert ids(plane) == [second]
    assert folders(plane) == {second}
    assert code_of(plane.http.delete(f"{BASE}/{first}")) == (404, "savepoint.not_found")
    refused = plane.http.post("/api/v1/pipelines/orders/restore", json={"savepoint_id": first, "allow_replay": True})
    assert code_of(refused) == (404, "savepoint.not_found")
    told = [event["message"] for event in plane.get("/pipelines/orders/events")["data"]]
    assert f"savepoint {first} deleted" in told


def test_a_deletion_that_is_sent_twice_is_answered_twice(plane: Plane) -> None:
    [name] = taken(plane, 1)

    answers = [plane.http.delete(f"{BASE}/{name}", headers={"Idempotency-Key": "k"}) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [204, 204]


def test_simultaneous_deletions_of_a_savepoint_all_succeed(plane: Plane) -> None:
    [name] = taken(plane, 1)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: plane.http.delete(f"{BASE}/{name}"), range(4)))

    assert sorted(answer.status_code for answer in answers) == [204, 404, 404, 404]
    assert folders(plane) == set()


def test_a_pinned_savepoint_is_deleted_only_after_it_is_unpinned(plane: Plane) -> None:
    [name] = taken(plane, 1)

    assert plane.http.patch(f"{BASE}/{name}", json={"pinned": True}).json()["pinned"] is True
    assert code_of(plane.http.delete(f"{BASE}/{name}")) == (409, "savepoint.pinned")
    assert plane.http.patch(f"{BASE}/{name}", json={"pinned": False}).json()["pinned"] is False
    assert plane.http.delete(f"{BASE}/{name}").status_code == 204


def test_a_savepoint_that_is_pinned_while_it_is_taken_stays_pinned(plane: Plane) -> None:
    pipeline = plane.run()
    pending = Savepoint("sp_aaaaaaaaaaaaaaaa", pipeline["id"], None, T0)
    with plane.context.database.writing() as connection:
        savepoints.add(connection, pending)
    assert code_of(plane.http.delete(f"{BASE}/{pending.id}")) == (409, "pipeline.busy")

    assert plane.http.patch(f"{BASE}/{pending.id}", json={"pinned": True}).is_success
    with plane.context.database.writing() as connection:
        savepoints.settle(connection, pending)

    assert plane.get(f"{PATH}/{pending.id}")["pinned"] is True


def test_a_savepoint_that_a_restore_is_to_read_is_not_deleted(plane: Plane) -> None:
    [name] = taken(plane, 1)
    body = {"savepoint_id": name, "allow_replay": True}
    assert plane.http.post("/api/v1/pipelines/orders/restore", json=body).status_code == 202

    assert code_of(plane.http.delete(f"{BASE}/{name}")) == (409, "savepoint.in_use")

    plane.settle()
    plane.end()
    assert plane.http.delete(f"{BASE}/{name}").status_code == 204


def test_a_restore_that_was_planned_before_a_deletion_is_refused(plane: Plane) -> None:
    [name] = taken(plane, 1)
    with plane.context.database.reading() as connection:
        record = read_record(connection, "orders")
        stored = savepoints.get(connection, record.pipeline.id, name)
    plan = plan_restore(plane.context, record, stored, with_version=False, allow_replay=True)

    assert plane.http.delete(f"{BASE}/{name}").status_code == 204

    with plane.context.database.writing() as connection, pytest.raises(SavepointNotFoundError):
        plan.ask(connection, record)


def test_a_savepoint_that_is_read_here_is_not_deleted(plane: Plane) -> None:
    [name] = taken(plane, 1)
    pipeline = plane.get("/pipelines/orders")["id"]

    with holding(plane.context, pipeline, name, "it is exported"):
        assert code_of(plane.http.delete(f"{BASE}/{name}")) == (409, "savepoint.in_use")

    assert plane.http.delete(f"{BASE}/{name}").status_code == 204
    with pytest.raises(SavepointNotFoundError), holding(plane.context, pipeline, name, "it is exported"):
        pass


def test_only_a_complete_savepoint_can_be_read(plane: Plane) -> None:
    pipeline = plane.run()
    broken = take(plane, "broken")["id"]

    with (
        pytest.raises(SavepointError, match="is failed"),
        holding(plane.context, pipeline["id"], broken, "it is exported"),
    ):
        pass


def test_savepoint_needed_for_a_rollback_is_not_deleted(plane: Plane) -> None:
    plane.run(query="SELECT 1")
    plane.call("heartbeat", {"state": "running", "reports": [report(7, 5)]})
    plane.upgrade = SHOWN
    plane.deploy(query="SELECT 2")
    [saved] = plane.get(PATH)["data"]
    assert code_of(plane.http.delete(f"{BASE}/{saved['id']}")) == (409, "pipeline.busy")
    plane.end()
    plane.come_up()
    let_savepoints_settle(plane)

    assert code_of(plane.http.delete(f"{BASE}/{saved['id']}")) == (409, "savepoint.in_use")

    plane.call("heartbeat", {"state": "running", "reports": [report(8, 6)]})
    assert fates_of(plane.http.post(f"{BASE}/prune?dry_run=true", json={"keep_last": 1})) == {saved["id"]: False}
    assert plane.http.delete(f"{BASE}/{saved['id']}").status_code == 204


def test_a_policy_says_what_goes_and_why_before_anything_goes(plane: Plane) -> None:
    names = taken(plane, 4)
    plane.http.patch(f"{BASE}/{names[0]}", json={"pinned": True})

    rehearsed = plane.http.post(f"{BASE}/prune?dry_run=true", json={"keep_last": 2})

    assert fates_of(rehearsed) == dict(zip(names, [False, True, False, False], strict=True))
    assert [fate["reason"] for fate in rehearsed.json()["fates"]][:2] == [
        "it is pinned",
        "a later savepoint is kept in its place",
    ]
    assert rehearsed.json()["bytes"] == 100
    assert ids(plane) == names
    assert fates_of(plane.http.post(f"{BASE}/prune", json={"keep_last": 2})) == fates_of(rehearsed)
    assert folders(plane) == {names[0], *names[2:]}


def test_without_a_policy_nothing_is_pruned(plane: Plane) -> None:
    names = taken(plane, 2)

    assert code_of(plane.http.post(f"{BASE}/prune")) == (400, "setting.savepoint_rule")
    assert code_of(plane.http.post(f"{BASE}/prune", json={})) == (400, "setting.savepoint_rule")
    Caretaker(plane.context).look()
    assert ids(plane) == names


def test_a_policy_that_is_set_is_applied_by_the_control_plane(plane: Plane) -> None:
    names = taken(plane, 3)
    policy = {"keep_last": 1, "daily": 2, "max_age_micros": 7 * 24 * 3600 * 1_000_000, "time_zone": "Europe/Berlin"}

    answer = plane.http.put(RETENTION, json=policy)

    assert answer.json() == {**policy, "weekly": None, "upgrades_for_micros": None}
    assert plane.get("/pipelines/orders/savepoint-retention") == answer.json()
    Caretaker(plane.context).look()
    assert ids(plane) == names[1:]
    plane.now += timedelta(days=30)
    Caretaker(plane.context).look()
    assert ids(plane) == names[2:]
    told = [event["message"] for event in plane.get("/pipelines/orders/events")["data"]]
    assert f"savepoint {names[0]} deleted: a later savepoint is kept in its place" in told
    assert plane.http.delete(RETENTION).json()["keep_last"] is None
    assert code_of(plane.http.post(f"{BASE}/prune")) == (400, "setting.savepoint_rule")


@pytest.mark.parametrize(
    "policy",
    [{}, {"upgrades_for_micros": 5}, {"keep_last": 1, "time_zone": "Nowhere"}, {"keep_last": 1, "time_zone": "../x"}],
)
def test_a_policy_without_sense_is_refused(plane: Plane, policy: dict[str, Any]) -> None:
    plane.run()

    assert code_of(plane.http.put(RETENTION, json=policy)) == (400, "setting.savepoint_rule")


@pytest.mark.parametrize("policy", [{"keep_last": 0}, {"keep_last": -1}, {"max_age_micros": 0}, {"keep": 1}])
def test_a_policy_out_of_bounds_is_refused(plane: Plane, policy: dict[str, Any]) -> None:
    plane.run()

    assert plane.http.put(RETENTION, json=policy).status_code == 422


def test_pending_savepoint_is_not_pruned(plane: Plane) -> None:
    pipeline = plane.run()
    with plane.context.database.writing() as connection:
        savepoints.add(connection, Savepoint("sp_aaaaaaaaaaaaaaaa", pipeline["id"], None, T0, after_stop=True))
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"})
    names = [take(plane)["id"] for _ in range(2)]

    fates = fates_of(plane.http.post(f"{BASE}/prune", json={"keep_last": 1}))

    assert fates == {"sp_aaaaaaaaaaaaaaaa": False, names[0]: True, names[1]: False}


def test_files_that_cannot_be_removed_yet_go_later(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    [name] = taken(plane, 1)

    def fail(*_: Any, **__: Any) -> None:
        raise OSError("the disk is away")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", fail)
        assert plane.http.delete(f"{BASE}/{name}").status_code == 204
    assert (ids(plane), folders(plane)) == ([], {f".{name}.deleted"})

    Caretaker(plane.context).look()

    assert folders(plane) == set()
    with plane.context.database.reading() as connection:
        assert savepoints.deleting(connection) == []


def test_the_same_policy_once_more_is_no_news(plane: Plane) -> None:
    plane.run()

    for _ in range(2):
        assert plane.http.put(RETENTION, json={"keep_last": 1}).json()["keep_last"] == 1

    told = [event["message"] for event in plane.get("/pipelines/orders/events")["data"]]
    assert told.count("savepoint retention set: last 1") == 1


def test_a_deleted_pipeline_takes_its_rules_and_halves_with_it(plane: Plane) -> None:
    taken(plane, 1)
    plane.http.put(RETENTION, json={"keep_last": 1})
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "force"})
    plane.settle()

    assert plane.http.delete("/api/v1/pipelines/orders?with_savepoints=true").status_code == 204

    Caretaker(plane.context).look()
    plane.deploy()
    assert plane.get("/pipelines/orders/savepoint-retention")["keep_last"] is None


@pytest.mark.parametrize("point", list(SavepointPoint), ids=str)
def test_a_removal_that_is_killed_leaves_no_half_savepoint_and_is_finished(
    tmp_path: Path, point: SavepointPoint
) -> None:
    environment = {**os.environ, ARMED: point.value, ALLOWED: "1"}
    died = subprocess.run(
        [sys.executable, "-m", removal_that_dies.__name__, str(tmp_path)], env=environment, check=False
    )
    assert died.returncode == -signal.SIGKILL

    database = open_database(DataDirectory(tmp_path))
    context = removal_that_dies.context_of(tmp_path, database)
    with database.reading() as connection:
        pipeline = pipelines.get(connection, "orders")
        assert savepoints.page(connection, pipeline.id, 10) == []
    savepoint_removal.finish_all(context)

    folder = context.directory.savepoint(pipeline.id, removal_that_dies.SAVEPOINT.id).parent
    assert list(folder.iterdir()) == []
    with database.reading() as connection:
        assert savepoints.deleting(connection) == []
    context.workers.shutdown()
    database.close()


def test_the_verb_names_what_an_action_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["savepoint", "pin", "orders"]) == 2
    assert "arroyo savepoint pin PIPELINE SAVEPOINT" in capsys.readouterr().err
    assert main(["savepoint", "show", "orders", "sp_1", "--keep-last", "3"]) == 2
    assert "--keep-last is not for arroyo savepoint show" in capsys.readouterr().err
