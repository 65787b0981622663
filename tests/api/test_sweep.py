"""Planted leaks go, and what looks like them and is needed stays."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import threading
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select, text, update

from engine.api.sweep import Sweeper
from engine.cli.base import Client
from engine.cli.server.serve import SWEEP
from engine.jobs.decisions.status import JobEvent
from engine.jobs.disk import Limits, OpenRun, leaked_paths
from engine.jobs.processes.processes import try_lock
from engine.store.access.keys import KEYS
from engine.store.jobs import events
from engine.store.jobs.runs import RUNS
from engine.store.partitions.certificates import CERTIFICATES
from engine.store.pipelines.pipeline_secrets import SECRETS
from engine.store.savepoints import SAVEPOINTS
from tests.api.conftest import T0, Plane

LIMITS = Limits(kept_runs=2, files_for=timedelta(days=7), kept_events=3, history_for=timedelta(days=90))


@pytest.fixture
def old_plane(plane: Plane) -> Plane:
    """A control plane whose clock is far ahead of all that was planted."""
    object.__setattr__(plane.context, "limits", LIMITS)
    return plane


@pytest.fixture
def gone_pid() -> int:
    """The number of a process that was there."""
    with subprocess.Popen(["true"]) as process:
        process.wait()
    return process.pid


@pytest.fixture
def living_pid() -> Iterator[int]:
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process.pid
        process.kill()


def _plant(path: Path, age: timedelta = timedelta(days=8), now: datetime = T0) -> Path:
    """A file of some age."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("12345")
    moment = (now - age).timestamp()
    os.utime(path, (moment, moment))
    os.utime(path.parent, (moment, moment))
    return path


def _sweep(plane: Plane, *, dry_run: bool = False) -> list[dict[str, Any]]:
    answer = plane.http.post(f"/api/v1/sweep?dry_run={dry_run}")
    assert answer.is_success, answer.text
    assert answer.json()["dry_run"] is dry_run
    leaks: list[dict[str, Any]] = answer.json()["leaks"]
    return leaks


def test_scratch_of_killed_drivers_goes_and_that_of_living_ones_stays(
    old_plane: Plane, gone_pid: int, living_pid: int
) -> None:
    logs = old_plane.context.directory.state(old_plane.deploy()["id"]) / "logs"
    planted = [_plant(logs / f"scratch-{pid}" / "blocks" / "1") for pid in (gone_pid, living_pid)]
    other = _plant(logs / "spark.log")

    (named,) = _sweep(old_plane, dry_run=True)
    assert (named["path"], named["bytes"]) == (str(logs / f"scratch-{gone_pid}"), 5)
    assert f"process {gone_pid} is no more" in named["reason"]
    assert all(path.exists() for path in planted)
    assert _sweep(old_plane) == [named]

    assert [path.exists() for path in (*planted, other)] == [False, True, True]
    assert _sweep(old_plane) == []


def test_scratch_of_a_run_that_is_open_stays_though_its_driver_has_died(old_plane: Plane, gone_pid: int) -> None:
    pipeline = old_plane.run()
    with old_plane.context.database.writing() as connection:
        connection.execute(update(RUNS).values(pid=gone_pid))
    scratch = _plant(old_plane.context.directory.state(pipeline["id"]) / "logs" / f"scratch-{gone_pid}" / "1")

    assert _sweep(old_plane) == []
    assert scratch.exists()


def test_files_of_old_runs_go_beyond_a_number_and_an_age(old_plane: Plane) -> None:
    pipeline = old_plane.deploy(stop="checkpoint")
    runs = old_plane.context.directory.runs(pipeline["id"])
    old = [_plant(runs / f"00000{number}.{kind}") for number in (1, 2, 3) for kind in ("json", "log")]
    young = _plant(runs / "000000.log", timedelta(days=6))
    stays = [_plant(runs / name) for name in ("lock", "chore.log", "chore.json")]

    swept = {Path(leak["path"]).name for leak in _sweep(old_plane)}

    assert swept == {"000001.json", "000001.log"}
    assert [path.exists() for path in old] == [False, False, True, True, True, True]
    assert all(path.exists() for path in (young, *stays))


def test_files_of_a_run_that_is_open_stay(tmp_path: Path, old_plane: Plane) -> None:
    pipeline_id, directory = "pl_aaaaaaaaaaaaaaaa", old_plane.context.directory
    for number in range(1, 6):
        _plant(directory.runs(pipeline_id) / f"00000{number}.log")

    leaks = leaked_paths(directory, {pipeline_id: OpenRun(2, 1)}, T0, replace(LIMITS, kept_runs=1))

    assert [leak.path.name for leak in leaks] == ["000001.log"]


def test_files_of_a_deleted_pipeline_go_unless_a_process_is_at_work_there(old_plane: Plane) -> None:
    directory = old_plane.context.directory
    gone, locked, young = (directory.runs(f"pl_{letter * 16}") for letter in "xyz")
    for folder in (gone, locked):
        _plant(folder / "000001.log")
    _plant(young / "000001.log", timedelta(days=1))
    lock = try_lock(locked / "lock")
    _plant(directory.root / "runs" / "of somebody else" / "000001.log")

    (leak,) = _sweep(old_plane)

    assert (leak["path"], leak["kind"]) == (str(gone), "files of no pipeline")
    assert not gone.exists()
    assert locked.exists()
    assert young.exists()
    assert lock is not None
    lock.close()


def test_file_that_disappears_during_a_sweep_is_ignored(
    old_plane: Plane, gone_pid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver removes its scratch directory when it ends, and a deletion the files of its pipeline."""
    directory = old_plane.context.directory
    pipeline_id = old_plane.deploy()["id"]
    scratch = _plant(directory.state(pipeline_id) / "logs" / f"scratch-{gone_pid}" / "1").parent
    deleted = _plant(directory.runs("pl_xxxxxxxxxxxxxxxx") / "000001.log").parent

    def end(_: int) -> bool:
        shutil.rmtree(scratch)
        return False

    def remove(lock: Path) -> bool:
        shutil.rmtree(lock.parent)
        return False

    monkeypatch.setattr("engine.jobs.disk.processes.is_locked", remove)
    leaks = list(leaked_paths(directory, {pipeline_id: None}, T0 + timedelta(days=9), LIMITS, is_alive=end))

    assert [leak.bytes for leak in leaks if leak.path == scratch] in ([], [0])
    assert deleted not in [leak.path for leak in leaks]


def test_states_and_savepoints_stay_whosever_they_are(old_plane: Plane, gone_pid: int) -> None:
    directory = old_plane.context.directory
    pipeline = old_plane.deploy()
    stays = [
        _plant(directory.state("pl_xxxxxxxxxxxxxxxx") / "logs" / f"scratch-{gone_pid}" / "1"),
        _plant(directory.state("pl_xxxxxxxxxxxxxxxx") / "savepoints" / "sp_aaaaaaaaaaaaaaaa" / "manifest.json"),
        _plant(directory.state(pipeline["id"]) / "savepoints" / f"scratch-{gone_pid}" / "1"),
        _plant(directory.state(pipeline["id"]) / "checkpoint" / "commits" / "0"),
    ]
    with old_plane.context.database.writing() as connection:
        connection.execute(
            insert(SAVEPOINTS).values(
                id="sp_aaaaaaaaaaaaaaaa", pipeline_id=pipeline["id"], state="completed", created_at=T0, after_stop=False
            )
        )
    old_plane.now = T0 + timedelta(days=1000)

    _sweep(old_plane)

    assert all(path.exists() for path in stays)
    assert len(old_plane.get("/pipelines/orders/savepoints")["data"]) == 1


def _event(plane: Plane, at: datetime, message: str) -> None:
    job = plane.job()["id"]
    with plane.context.database.writing() as connection:
        events.add(connection, JobEvent(job, at, "info", message))


def test_old_events_go_beyond_a_number(old_plane: Plane) -> None:
    old_plane.deploy()
    with old_plane.context.database.writing() as connection:
        connection.execute(text("DELETE FROM notes"))
    for number in range(6):
        _event(old_plane, T0 - timedelta(days=100 if number < 5 else 1), str(number))

    (leak,) = _sweep(old_plane, dry_run=True)
    assert (leak["kind"], leak["count"]) == ("events", 3)
    _sweep(old_plane)

    assert [event["message"] for event in old_plane.get("/pipelines/orders/events")["data"]] == ["5", "4", "3"]


def test_old_keys_certificates_and_secrets_of_no_pipeline_go(old_plane: Plane) -> None:
    old, young = T0 - timedelta(days=91), T0 - timedelta(days=29)
    pipeline = old_plane.deploy(secrets={"PASSWORD": "hidden"})
    with old_plane.context.database.writing() as connection:
        for name, at in (("a", old), ("b", young)):
            connection.execute(insert(KEYS).values(key=name, digest="d", status=200, body=b"", created_at=at))
            gate = {"past": T0, "complete_until": T0, "by_time": "input", "dag_id": "d", "run_id": "r"}
            connection.execute(insert(CERTIFICATES).values(id=name, pipeline_id=pipeline["id"], at=at, **gate))
    # what our own connections do not let happen
    with closing(sqlite3.connect(old_plane.context.directory.database)) as database, database:
        database.execute("INSERT INTO secrets (pipeline_id, name, sealed) VALUES ('pl_gone', 'KEY', 'x')")

    swept = {leak["kind"]: leak["count"] for leak in _sweep(old_plane)}

    assert swept == {"idempotency keys": 1, "certificates": 1, "secrets": 1}
    with old_plane.context.database.reading() as connection:
        assert list(connection.execute(select(KEYS.c.key)).scalars()) == ["b"]
        assert list(connection.execute(select(CERTIFICATES.c.id)).scalars()) == ["b"]
        assert list(connection.execute(select(SECRETS.c.pipeline_id)).scalars()) == [pipeline["id"]]


def test_records_of_old_runs_that_were_never_up_go_but_for_a_hundred(old_plane: Plane) -> None:
    pipeline = old_plane.deploy()
    common = {"job_id": old_plane.job()["id"], "pipeline_id": pipeline["id"], "key_hash": "h", "version": 1}
    at = T0 - timedelta(days=100)
    with old_plane.context.database.writing() as connection:
        connection.execute(text("DELETE FROM runs"))
        for generation in range(1, 106):
            row = {**common, "generation": generation, "parallelism": 1, "launched_at": at, "ended_at": at}
            was_up = {1: {"running_at": at}, 2: {"step": "first epoch"}}
            connection.execute(insert(RUNS).values(**row, **was_up.get(generation, {})))
    old_plane.runner.processes.clear()

    (leak,) = _sweep(old_plane)

    assert (leak["kind"], leak["count"]) == ("runs", 3)
    with old_plane.context.database.reading() as connection:
        assert sorted(connection.execute(select(RUNS.c.generation)).scalars())[:4] == [1, 2, 6, 7]


def test_the_log_says_who_had_what_removed(old_plane: Plane, gone_pid: int, caplog: pytest.LogCaptureFixture) -> None:
    logs = old_plane.context.directory.state(old_plane.deploy()["id"]) / "logs"
    _plant(logs / f"scratch-{gone_pid}" / "1")

    with caplog.at_level("INFO", "engine.api.sweep"):
        _sweep(old_plane, dry_run=True)
        assert caplog.messages == []
        _sweep(old_plane)

    assert caplog.messages == [f"sweep by admin: scratch {logs / f'scratch-{gone_pid}'}: process {gone_pid} is no more"]


def test_file_that_cannot_be_removed_is_left_for_the_next_sweep(
    old_plane: Plane, gone_pid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = old_plane.context.directory.state(old_plane.deploy()["id"]) / "logs"
    _plant(logs / f"scratch-{gone_pid}" / "1")

    def refuse(path: Path) -> None:
        raise PermissionError(path)

    with monkeypatch.context() as patched:
        patched.setattr("engine.api.sweep.shutil.rmtree", refuse)
        assert _sweep(old_plane) == []

    assert len(_sweep(old_plane)) == 1


def test_a_control_plane_sweeps_at_its_start(old_plane: Plane, gone_pid: int) -> None:
    logs = old_plane.context.directory.state(old_plane.deploy()["id"]) / "logs"
    scratch = _plant(logs / f"scratch-{gone_pid}" / "1")
    sweeper = Sweeper(old_plane.context, timedelta(hours=1))
    thread = threading.Thread(target=sweeper.run)
    thread.start()
    pause = threading.Event()
    for _ in range(2000):
        if not scratch.parent.exists():
            break
        pause.wait(0.01)
    sweeper.close()
    thread.join(30)

    assert not scratch.parent.exists()
    assert not thread.is_alive()


def test_the_command_line_names_what_would_go_and_why(
    old_plane: Plane, gone_pid: int, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    logs = old_plane.context.directory.state(old_plane.deploy()["id"]) / "logs"
    scratch = _plant(logs / f"scratch-{gone_pid}" / "1").parent

    def send(self: Client, method: str, path: str, *_: Any, **__: Any) -> Any:
        return old_plane.http.request(method, f"/api/v1{path}").json()

    def call(*arguments: str) -> str:
        parser = ArgumentParser()
        SWEEP.add_arguments(parser)
        assert SWEEP.run(parser.parse_args([*arguments, "--url", "http://x"])) == 0
        printed: str = capsys.readouterr().out
        return printed

    monkeypatch.setattr(Client, "_send", send)
    monkeypatch.setenv("ARROYO_TOKEN", "one")  # and not that of whoever runs the tests

    planned = call("--dry-run")
    assert str(scratch) in planned
    assert "5 bytes of files would go" in planned
    assert "is no more" in planned
    assert "5 bytes of files gone" in call()
    assert call() == "nothing is left behind\n"
