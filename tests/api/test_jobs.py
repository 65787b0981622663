from __future__ import annotations

import errno
import logging
import os
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from engine.api.answers import Checkpoint, Job
from engine.jobs.actors import JobRecord
from engine.jobs.decisions.observe import Process
from engine.jobs.decisions.status import Run
from engine.jobs.processes.assignment import Assignment
from engine.jobs.processes.left_by_drivers import leave_goodbye
from engine.jobs.processes.runner import Holder
from engine.store.jobs import runs
from engine.store.jobs.records import StoredRecords
from tests.api.conftest import Plane, report


def test_a_job_says_what_its_drivers_reported(plane: Plane) -> None:
    plane.run()
    plane.call("heartbeat", {"state": "running", "reports": [report(1, 10), report(2, 20)]})

    job = plane.job()
    checkpoints = plane.get(f"/pipelines/orders/jobs/{job['id']}/checkpoints")["data"]

    assert set(job) == set(Job.model_fields)
    assert (job["state"], job["epoch"], job["run_id"]) == ("Running", 2, 1)
    assert set(checkpoints[0]) == set(Checkpoint.model_fields)
    assert [checkpoint["epoch"] for checkpoint in checkpoints] == [2, 1]


def test_reports_that_come_late_move_nothing_back(plane: Plane) -> None:
    plane.run()
    plane.call("heartbeat", {"state": "running", "reports": [report(5, 50)]})
    plane.call("heartbeat", {"state": "running", "reports": [report(4, 40)]})

    assert plane.job()["epoch"] == 5


def test_a_driver_that_dies_is_started_again_after_a_pause(plane: Plane) -> None:
    plane.run()
    plane.end(None)
    job = plane.job()
    assert (job["state"], job["failure_code"], job["restarts"]) == ("Recovering", "run.died", 1)

    plane.now += timedelta(milliseconds=500)
    plane.settle()

    assert plane.runner.launched[-1].generation == 2
    assert [error["code"] for error in plane.get(f"/pipelines/orders/jobs/{job['id']}/errors")["data"]] == ["run.died"]


def test_a_job_that_never_comes_up_is_given_up(plane: Plane) -> None:
    plane.deploy()
    for _ in range(3):
        plane.end(None)
        plane.now += timedelta(minutes=1)
        plane.settle()

    assert (plane.state(), len(plane.runner.launched)) == ("Failed", 3)
    assert "given up after 3 failures" in plane.job()["failure_message"]


def test_an_outage_is_waited_out_however_long_it_lasts(plane: Plane) -> None:
    plane.deploy()
    away = {"code": "data.source_unavailable", "message": "Kafka is away", "cause": "outage"}
    for _ in range(40):
        plane.end("failed", away)
        plane.now += timedelta(minutes=1)
        plane.settle()

    job = plane.job()
    assert (job["state"], job["failure_code"], job["failure_cause"]) == ("Scheduling", away["code"], "outage")
    assert (job["restarts"], job["restarts_total"], job["restart_code"]) == (40, 40, away["code"])


def test_a_start_says_what_it_is_at_and_runs_only_when_its_work_has_shown_something(plane: Plane) -> None:
    plane.deploy()
    for signs, step in enumerate(("reading the script", "starting Java", "planning", "first epoch")):
        plane.call("heartbeat", {"state": "starting", "signs": signs, "step": step})
        assert (plane.state(), plane.job()["step"]) == ("Scheduling", step)

    plane.call("heartbeat", {"state": "running", "reports": [report(0, 1)], "signs": 9, "step": "first epoch"})

    assert (plane.state(), plane.job()["step"]) == ("Running", None)


def test_a_first_epoch_may_be_long_and_a_step_that_does_not_come_on_may_not(plane: Plane) -> None:
    plane.deploy()
    for minute in range(20):
        plane.call("heartbeat", {"state": "starting", "signs": minute, "step": "first epoch"})
        plane.let_pass(30)
    assert (plane.state(), plane.runner.killed) == ("Scheduling", [])

    for _ in range(20):
        plane.call("heartbeat", {"state": "starting", "signs": 20, "step": "first epoch"})
        plane.let_pass(4)

    assert plane.runner.killed == [1]
    assert plane.job()["failure_code"] == "run.stuck"


def test_a_driver_that_calls_while_its_work_is_stuck_is_started_again(plane: Plane) -> None:
    plane.run()
    for _ in range(7):
        plane.call("heartbeat", {"state": "running", "signs": 5})
        plane.let_pass(10)

    job = plane.job()
    assert (plane.runner.killed, job["failure_code"], job["restart_code"]) == ([1], "run.stuck", "run.stuck")
    assert "spark.log.stderr" in job["failure_hint"]


def test_a_driver_that_does_not_count_its_signs_lives_by_its_calls(plane: Plane) -> None:
    plane.run()
    for _ in range(30):
        plane.call("heartbeat", {"state": "running"})
        plane.let_pass(10)

    assert (plane.state(), plane.runner.killed) == ("Running", [])


def test_a_driver_that_was_killed_says_by_what(plane: Plane) -> None:
    plane.run()
    plane.runner.endings[1] = "was ended by the kernel, which was out of memory (signal 9)"
    plane.end(None)

    assert plane.job()["failure_message"] == (
        "the driver was ended by the kernel, which was out of memory (signal 9), without saying why"
    )


def test_a_driver_of_an_earlier_version_does_not_say_what_is_behind_an_error(plane: Plane) -> None:
    plane.run()
    plane.end("failed", {"code": "data.source_unavailable", "message": "Kafka is away"})

    assert (plane.state(), plane.job()["failure_cause"]) == ("Failed", "mistake")


def test_restarts_in_a_row_fall_back_to_none_once_a_run_is_healthy(plane: Plane) -> None:
    plane.run()
    plane.end(None)
    plane.now += timedelta(seconds=1)
    plane.settle()
    plane.call("heartbeat", {"state": "running"})
    plane.settle()
    assert (plane.job()["restarts"], plane.state()) == (1, "Running")

    for _ in range(121):
        plane.now += timedelta(seconds=1)
        plane.call("heartbeat", {"state": "running"})
        plane.settle()

    job = plane.job()
    assert (job["restarts"], job["restarts_total"], job["restart_code"]) == (0, 1, "run.died")


def test_a_failure_that_another_try_cannot_mend_fails_the_job_at_once(plane: Plane) -> None:
    plane.run()
    plane.end("failed", {"code": "delivery.ledger_lost", "message": "lost", "hint": "look"})

    job = plane.job()
    assert (job["state"], job["failure_code"], job["failure_message"]) == ("Failed", "delivery.ledger_lost", "lost")
    assert job["failure_hint"] == "look"


def test_a_silent_driver_is_killed_and_replaced(plane: Plane) -> None:
    plane.run()
    plane.let_pass(30)
    assert plane.runner.killed == []
    plane.let_pass(1)
    assert plane.runner.killed == [1]

    plane.let_pass(2)

    assert plane.runner.launched[-1].generation == 2
    assert plane.job()["failure_code"] == "run.silent"


def test_after_a_sleep_of_the_machine_drivers_have_time_to_be_heard(plane: Plane) -> None:
    plane.run()
    plane.now += timedelta(hours=8)
    plane.let_pass(30)
    assert plane.runner.killed == []

    plane.let_pass(2)

    assert plane.runner.killed == [1]


def test_a_clock_that_is_set_back_hides_no_silent_driver(plane: Plane) -> None:
    plane.run()
    plane.let_pass(5)
    plane.now -= timedelta(days=1)
    plane.let_pass(31)
    assert plane.runner.killed == []

    plane.let_pass(1)

    assert plane.runner.killed == [1]


def test_a_driver_that_calls_while_it_is_looked_at_is_not_silent(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    plane.run()
    for _ in range(4):
        plane.let_pass(20)
        plane.call("heartbeat", {"state": "running"})

    def call_now(job: str, generation: int) -> datetime:
        plane.now += timedelta(milliseconds=1)
        return plane.now

    monkeypatch.setattr(plane.controller, "last_reports", SimpleNamespace(last=call_now, last_sign=call_now))
    plane.let_pass(1)

    assert plane.runner.killed == []


@pytest.mark.parametrize(
    ("number", "code", "cause"),
    [(errno.ENOSPC, "data.disk_full", "outage"), (errno.EAGAIN, "run.died", "unknown")],
)
def test_a_driver_that_cannot_be_started_says_what_the_machine_lacks(
    plane: Plane, number: int, code: str, cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = plane.runner.launch

    def refuse(_: Assignment) -> Holder:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(plane.runner, "launch", refuse)
    plane.deploy()
    job = plane.job()
    assert (job["state"], job["failure_code"], job["failure_cause"]) == ("Recovering", code, cause)
    assert os.strerror(number) in job["failure_message"]

    monkeypatch.setattr(plane.runner, "launch", launch)
    plane.let_pass(1)
    plane.come_up()

    assert plane.state() == "Running"


def test_a_full_disk_under_the_assignments_uses_up_no_restarts(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Assignment) -> Holder:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(plane.runner, "launch", refuse)
    plane.deploy()
    for _ in range(10):
        plane.now += timedelta(minutes=1)
        plane.settle()

    assert plane.job()["failure_code"] == "data.disk_full"
    assert plane.state() in ("Recovering", "Scheduling")


def test_a_driver_whose_goodbye_cannot_be_written_down_is_neither_silent_nor_stuck(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OperationalError("UPDATE", {}, sqlite3.OperationalError("database or disk is full"))

    plane.run()
    run = plane.runner.launched[-1]
    path = f"/api/v1/runs/{run.job_id}/{run.generation}/goodbye"
    away = {"code": "data.disk_full", "message": "no room", "cause": "outage"}
    with monkeypatch.context() as patch:
        patch.setattr(runs, "set_goodbye", full)
        for _ in range(100):
            refused = plane.http.post(
                path, json={"outcome": "failed", "error": away}, headers={"Authorization": f"Bearer {run.key}"}
            )
            assert refused.status_code == 503
            plane.let_pass(1)

    assert (plane.state(), plane.runner.killed) == ("Running", [])
    plane.end("failed", away)
    assert (plane.job()["state"], plane.job()["failure_cause"]) == ("Recovering", "outage")


def test_the_loop_outlives_a_store_that_cannot_be_read_and_says_so_once(
    plane: Plane, caplog: pytest.LogCaptureFixture
) -> None:
    looks: list[str] = []

    class Failing(StoredRecords):
        def active(self) -> Sequence[JobRecord]:
            looks.append("a look")
            if len(looks) < 4:
                raise sqlite3.OperationalError("disk I/O error")
            controller.close()
            return super().active()

    plane.deploy()
    records = Failing(plane.context.database, plane.context.directory)
    controller = replace(plane.controller, records=records, interval=timedelta(0))

    with caplog.at_level(logging.ERROR):
        controller.run()

    assert len(looks) == 4
    assert [entry.getMessage() for entry in caplog.records if entry.levelno >= logging.ERROR] == [
        "the control plane: an error ends this round; the next one tries again"
    ]


def test_error_of_one_job_does_not_delay_others_and_is_reported_once(
    plane: Plane, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = plane.runner.look

    def refuse(run: Run) -> Process:
        if run.pipeline_id == broken["id"]:
            raise OSError("no such luck")
        return look(run)

    broken = plane.run("broken")
    plane.run("orders")
    monkeypatch.setattr(plane.runner, "look", refuse)
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"})

    with caplog.at_level(logging.ERROR):
        plane.settle()

    assert plane.state("orders") == "CheckpointStopping"
    assert [entry.getMessage() for entry in caplog.records if entry.levelno >= logging.ERROR] == [
        f"pipeline {broken['id']}: an error ends this round; the next one tries again"
    ]


def test_leftover_processes_of_a_dead_driver_are_killed_before_the_next_start(plane: Plane) -> None:
    plane.run()
    plane.runner.processes[1] = Process.ORPHANED
    plane.settle()

    assert plane.runner.killed == [1]
    assert plane.state() == "Recovering"


def test_processes_left_after_a_reported_exit_are_not_killed(plane: Plane) -> None:
    plane.run()
    plane.call("goodbye", {"outcome": "finished"})
    plane.runner.processes[1] = Process.ORPHANED
    plane.settle()

    assert (plane.state(), plane.runner.killed) == ("Finished", [])


@pytest.mark.parametrize("process", [Process.GONE, Process.ORPHANED])
def test_a_job_whose_last_word_was_left_behind_has_ended_as_that_says(plane: Plane, process: Process) -> None:
    plane.run()
    run = plane.runner.launched[-1]
    body = {"outcome": "finished", "error": None, "reports": [report(7, 5)], "late": []}
    leave_goodbye(run.lock, 1, body)

    plane.settle()
    assert plane.state() == "Running"  # it may be said yet
    plane.runner.processes[1] = process
    plane.settle()

    job = plane.job()
    assert (job["state"], job["run_id"], job["epoch"], job["restarts"]) == ("Finished", 1, 7, 0)
    assert plane.runner.killed == []
    assert not list(run.lock.parent.glob("*.goodbye"))


def test_a_failure_that_was_left_behind_has_its_words_and_its_cause(plane: Plane) -> None:
    plane.run()
    run = plane.runner.launched[-1]
    error = {"code": "sql.broken", "message": "no", "hint": "try", "cause": "mistake"}
    leave_goodbye(run.lock, 1, {"outcome": "failed", "error": error})
    plane.end(None)

    job = plane.job()
    assert (job["state"], job["failure_code"], job["failure_message"]) == ("Failed", "sql.broken", "no")


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, '{"outcome": "lost"}'])
def test_a_last_word_that_says_nothing_is_none(plane: Plane, text: str) -> None:
    plane.run()
    run = plane.runner.launched[-1]
    run.lock.parent.mkdir(parents=True, exist_ok=True)
    run.lock.with_name("000001.goodbye").write_text(text)
    plane.end(None)

    assert (plane.job()["state"], plane.job()["failure_code"]) == ("Recovering", "run.died")


def test_a_superseded_driver_is_told_so(plane: Plane) -> None:
    plane.run()
    old = plane.runner.launched[-1]
    plane.end(None)
    plane.now += timedelta(seconds=1)
    plane.settle()

    answer = plane.call("heartbeat", {"state": "running", "reports": [report(9, 90)]}, old)

    assert answer == {"orders": [], "superseded": True}
    assert plane.job()["epoch"] is None


def test_a_driver_is_known_by_its_own_secret_only(plane: Plane) -> None:
    plane.run()
    assignment = plane.runner.launched[-1]
    path = f"/api/v1/runs/{assignment.job_id}/1/heartbeat"

    wrong = plane.http.post(path, json={"state": "running"}, headers={"Authorization": "Bearer wrong"})
    admin = plane.http.post(path, json={"state": "running"})
    unknown = plane.http.post(
        path.replace("/1/", "/2/"), json={"state": "running"}, headers={"Authorization": f"Bearer {assignment.key}"}
    )

    assert [wrong.status_code, admin.status_code, unknown.status_code] == [401, 401, 401]


def test_a_late_call_of_the_run_before_does_not_make_the_newest_one_silent(plane: Plane) -> None:
    plane.run()
    first = plane.runner.launched[-1]
    plane.end(None)
    plane.let_pass(5)
    plane.come_up()
    for _ in range(4):
        plane.let_pass(20)
        plane.call("heartbeat", {"state": "running"})

    assert plane.call(
        "heartbeat", {"state": "running", "usage": {"java": {"cpu_seconds": 1, "memory_bytes": 1}}}, first
    )["superseded"]

    assert (plane.state(), plane.job()["run_id"]) == ("Running", 2)
    assert 2 not in plane.runner.killed
    assert plane.get("/pipelines")["data"][0]["memory_bytes"] is None


def test_events_of_a_job_can_be_read(plane: Plane) -> None:
    plane.run()

    events = plane.get("/pipelines/orders/events")["data"]

    assert [(event["message"], event["who"]) for event in events] == [
        ("Scheduling to Running", "admin"),
        ("Created to Scheduling", "admin"),
        ("version 1 was deployed", "admin"),
    ]


def runs_of(plane: Plane, pipeline: dict[str, Any]) -> Path:
    runs = plane.context.directory.runs(pipeline["id"])
    runs.mkdir(parents=True)
    return runs


def test_logs_are_the_last_lines_of_all_runs(plane: Plane) -> None:
    runs = runs_of(plane, plane.run())
    (runs / "000001.log").write_text("a\nb\n")
    (runs / "000002.log").write_text("c\n")

    shown = plane.get("/pipelines/orders/logs?limit=2")

    assert (shown["data"], shown["has_more"]) == (["b", "c"], True)
    assert plane.get("/pipelines/orders/logs")["data"] == ["a", "b", "c"]


def test_logs_are_followed_from_run_to_run_until_the_job_rests(plane: Plane) -> None:
    runs = runs_of(plane, plane.run())
    seen: list[str] = []

    def look(limit: int = 100) -> bool:
        """Read on; whether no more will come."""
        cursor = f"&after={answers[-1]['cursor']}" if answers else ""
        answers.append(plane.get(f"/pipelines/orders/logs?limit={limit}{cursor}"))
        seen.extend(answers[-1]["data"])
        return bool(answers[-1]["over"])

    answers: list[dict[str, Any]] = []
    assert not look()
    (runs / "000001.log").write_text("a\nb\nhal")
    assert not look(limit=1)
    assert (seen, answers[-1]["has_more"]) == (["a"], True)
    assert not look()
    assert (seen, answers[-1]["has_more"]) == (["a", "b"], False)

    (runs / "000001.log").write_text("a\nb\nhalf\nlast words")
    (runs / "000002.log").write_text("c\n")
    assert not look()
    assert seen == ["a", "b", "half", "last words", "c"]

    (runs / "000003.log").write_text("d\x0be\r\nend")
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"})
    assert not look()
    plane.settle()
    plane.end()
    assert look()
    assert seen[5:] == ["d\x0be", "end"]

    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "none"})
    assert not look()


def test_a_log_that_was_removed_is_passed_over_and_a_cursor_of_somebody_else_is_refused(plane: Plane) -> None:
    runs = runs_of(plane, plane.run())
    (runs / "000004.log").write_text("d\n")

    assert plane.get("/pipelines/orders/logs?after=2-700")["data"] == ["d"]
    assert plane.get("/pipelines/orders/logs?after=4-700")["data"] == ["d"]
    assert plane.http.get("/api/v1/pipelines/orders/logs?after=late").json()["code"] == "request.invalid"


def test_a_line_that_is_still_being_written_is_shown_once_and_whole(plane: Plane) -> None:
    runs = runs_of(plane, plane.run())
    (runs / "000001.log").write_text("a\n{hal")
    first = plane.get("/pipelines/orders/logs")
    (runs / "000001.log").write_text("a\n{half}\n")

    assert first["data"] == ["a"]
    assert plane.get(f"/pipelines/orders/logs?after={first['cursor']}")["data"] == ["{half}"]

    (runs / "000001.log").write_text("a\n{half}\nlast words")
    plane.end("finished")
    assert plane.get("/pipelines/orders/logs")["data"] == ["a", "{half}", "last words"]


def test_only_a_line_feed_ends_a_line(plane: Plane) -> None:
    runs = runs_of(plane, plane.run())
    (runs / "000001.log").write_text("10 %\r20 %\nend\n")

    first = plane.get("/pipelines/orders/logs?after=0-0&limit=1")

    assert (first["data"], first["has_more"]) == (["10 %\r20 %"], True)
    assert plane.get(f"/pipelines/orders/logs?after={first['cursor']}")["data"] == ["end"]


def test_a_log_that_is_removed_while_logs_are_read_is_passed_over(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = runs_of(plane, plane.run())
    (runs / "000002.log").write_text("b\n")
    listed = [runs / "000001.log", runs / "000002.log", runs / "000003.log"]
    monkeypatch.setattr("engine.control.log_tail._logs", lambda _: listed)

    shown = plane.get("/pipelines/orders/logs")

    assert (shown["data"], shown["cursor"]) == (["b"], "2-2")
    assert plane.get("/pipelines/orders/logs?after=0-0")["data"] == ["b"]


def test_a_long_log_is_followed_in_pieces(plane: Plane) -> None:
    runs = runs_of(plane, plane.run())
    lines = [f"{number} {'x' * 1000}" for number in range(2500)]
    (runs / "000001.log").write_text("\n".join(lines) + "\n" + "y" * 3_000_000 + "\nend\n")

    cursor, seen = "0-0", ""
    for _ in range(12):
        answer = plane.get(f"/pipelines/orders/logs?after={cursor}&limit=10000")
        cursor, seen = answer["cursor"], seen + "".join(answer["data"])

    assert seen == "".join(lines) + "y" * 3_000_000 + "end"


def test_the_store_holds_no_secret(plane: Plane) -> None:
    plane.run()
    assignment = plane.runner.launched[-1]

    assert assignment.key.encode() not in plane.context.directory.database.read_bytes()
    assert assignment.key not in repr(assignment)


@pytest.mark.parametrize(
    ("modes", "orders"),
    [
        (["graceful"], ["graceful"]),
        (["checkpoint"], ["checkpoint"]),
        (["graceful", "checkpoint"], ["checkpoint"]),
        (["graceful", "immediate"], ["immediate"]),
    ],
)
def test_a_driver_is_told_how_to_stop(plane: Plane, modes: list[str], orders: list[str]) -> None:
    plane.run()
    for mode in modes:
        plane.http.patch("/api/v1/pipelines/orders", json={"stop": mode})
        plane.settle()

    answer = plane.call("heartbeat", {"state": "running"})

    assert [order["mode"] for order in answer["orders"]] == orders
