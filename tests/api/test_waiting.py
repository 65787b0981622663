"""`--wait`: what is shown meanwhile, and when it ends."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.cli.base import Client, Json, RefusedError
from engine.cli.main import main
from engine.cli.savepoints.savepoint import until_settled
from engine.cli.waiting import Goal, JobWatch, ProgressLine, verdict
from engine.errors import EngineError, UnreachableError
from tests.api.conftest import Plane
from tests.api.stand_in_server import StandInServer

CREATED = {"state": "Created", "settled": False}
JAVA: dict[str, Json] = {"state": "Scheduling", "settled": True, "step": "starting Java"}
RUNNING: dict[str, Json] = {"state": "Running", "settled": True, "tasks": 2}
BEFORE = {"state": "Running", "settled": False}
FAILED = {"state": "Failed", "settled": True, "failure_code": "sql.syntax", "failure_message": "wrong"}
RECOVERING = {"state": "Recovering", "settled": True, "failure_code": "run.died"}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def wait_for(goal: Goal, *jobs: dict[str, Any] | EngineError, **options: Any) -> tuple[str | None, str]:
    """What a wait comes to that sees these jobs one after the other, and what it shows; a look takes a second."""
    looks: Iterator[dict[str, Any] | EngineError] = iter(jobs)
    now = [0.0]

    def look() -> Json:
        job = next(looks)
        if isinstance(job, EngineError):
            raise job
        return {"data": [job]}

    def pause(_: float) -> None:
        now[0] += 1

    stream = options.pop("stream", io.StringIO())
    ended = JobWatch(goal, look, line=ProgressLine(stream), clock=lambda: now[0], pause=pause, **options).until_end()
    return ended, stream.getvalue()


def test_each_change_is_a_line_and_on_a_terminal_one_line_is_written_anew() -> None:
    seen = (CREATED, CREATED, JAVA, JAVA, RUNNING)

    assert wait_for("running", *seen) == (None, "Created\nScheduling, starting Java\nRunning\n")
    assert wait_for("running", *seen, stream=Terminal()) == (
        None,
        "\r\033[KCreated\r\033[KScheduling, starting Java\r\033[KRunning\n",
    )


def test_a_run_that_is_to_be_replaced_does_not_count() -> None:
    assert wait_for("running", BEFORE, BEFORE, JAVA, RUNNING)[0] is None
    assert verdict("running", BEFORE) is False
    assert verdict("stopped", {"state": "Failed", "settled": False}) is False


def test_a_job_that_fails_ends_the_wait_with_its_own_words() -> None:
    assert wait_for("running", JAVA, RECOVERING, FAILED) == (
        "sql.syntax: wrong",
        "Scheduling, starting Java\nRecovering after run.died\nFailed\n",
    )
    assert verdict("running", {"state": "Stopped", "settled": True}) == (
        "pipeline.stopped: the job was stopped before it was running"
    )


def test_whoever_waits_for_a_stop_is_content_with_any_rest() -> None:
    for state in ("Stopped", "Finished", "Failed"):
        assert verdict("stopped", {"state": state, "settled": True}) is True
    assert verdict("finished", RUNNING) is False
    assert verdict("running", {"state": "Finished", "settled": True}) is True


def test_whoever_waits_for_the_stop_of_a_job_that_goes_on_is_told_so() -> None:
    assert verdict("stopped", RUNNING) == (
        "pipeline.not_stopped: the job is Running, and no stop was requested; it keeps running"
    )
    assert verdict("stopped", BEFORE) is False
    assert verdict("stopped", {"state": "Running"}) is False


def test_a_job_that_goes_on_as_it_was_is_not_rescaled() -> None:
    assert verdict("running", RUNNING, 2) is True
    assert verdict("running", RUNNING, 4) == (
        "pipeline.not_rescaled: the job goes on with parallelism 2; `arroyo events` says why"
    )


def test_a_control_plane_that_restarts_is_waited_for_and_one_that_is_gone_is_not() -> None:
    away = UnreachableError("no control plane answers at here")

    assert wait_for("running", JAVA, away, away, RUNNING) == (
        None,
        "Scheduling, starting Java\nthe control plane does not answer: no control plane answers at here\nRunning\n",
    )
    with pytest.raises(UnreachableError):
        wait_for("running", JAVA, *[away] * 60)


def test_an_answer_that_is_none_now_is_waited_for_and_a_refusal_is_not() -> None:
    ill = RefusedError(503, {"code": "server.store_unavailable", "detail": "no room"})

    assert wait_for("running", JAVA, ill, RUNNING)[0] is None
    with pytest.raises(RefusedError):
        wait_for("running", JAVA, RefusedError(404, {"code": "pipeline.not_found"}))


def test_a_savepoint_is_waited_for_over_a_restart_of_the_control_plane_and_no_longer_than_is_said() -> None:
    pending, done = {"id": "sp_1", "state": "pending"}, {"id": "sp_1", "state": "completed"}
    away = UnreachableError("no control plane answers at here")

    def settle(*answers: Json | EngineError, timeout: float | None = None) -> Json:
        coming, now = iter(answers), [0.0]

        def look(savepoint: str) -> Json:
            answer = next(coming)
            if isinstance(answer, EngineError):
                raise answer
            return answer

        def pause(_: float) -> None:
            now[0] += 1

        return until_settled(pending, look, timeout, lambda: now[0], pause)

    assert settle(pending, away, away, done) == done
    assert settle(*[pending] * 9, timeout=5) == pending
    with pytest.raises(UnreachableError):
        settle(*[away] * 60)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["stop", "orders", "--label", "before the move"], "add --savepoint"),
        (["stop", "orders", "--wait", "--timeout", "nan"], "--timeout"),
        (["stop", "orders", "--wait", "--timeout", "-1"], "--timeout"),
        (["watermark", "orders", "--past", "2026-01-01", "--timeout", "nan"], "--timeout"),
        (["deploy", "{script}", "--key", ""], "the argument key is empty"),
        (["deploy", "{script}", "--key", " "], "is not an idempotency key"),
        (["deploy", "{script}", "--key", "schlüssel"], "is not an idempotency key"),
        (["deploy", "{script}", "--key", "a\nb"], "is not an idempotency key"),
    ],
)
def test_options_without_effect_are_refused_before_a_request(
    arguments: list[str], complaint: str, server: StandInServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "orders.sql"
    script.write_text("SELECT 1")
    words = [argument.format(script=script) for argument in arguments]

    try:
        code = main([*words, "--url", server.url, "--token", "t"])
    except SystemExit as refused:
        code = int(str(refused.code))

    assert (code, complaint in capsys.readouterr().err, server.requests) == (2, True, [])


def test_a_stop_with_a_savepoint_waits_no_longer_than_is_said(
    server: StandInServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.answer = b'{"id": "sp_1", "state": "pending"}'

    code = main(["stop", "orders", "--savepoint", "--timeout", "0", "--url", server.url, "--token", "t"])

    assert (code, len(server.requests)) == (3, 1)
    assert "cli.timeout: the savepoint is not complete after 0 s" in capsys.readouterr().err


def test_a_wait_has_an_end_if_one_is_set() -> None:
    ended, _ = wait_for("running", *[JAVA] * 10, timeout=5)

    assert ended == "cli.timeout: the job is not running after 5 s; it goes on"


PIPELINE = {"name": "orders", "id": "pl_1", "state": "Running", "data": [RUNNING]}


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        (["start", "orders"], ("PATCH", "/pipelines/orders", {"stop": "none"})),
        (
            ["start", "orders", "--checkpoint-interval", "30s"],
            ("PATCH", "/pipelines/orders", {"stop": "none", "checkpoint_interval_micros": 30_000_000}),
        ),
        (["restart", "orders"], ("POST", "/pipelines/orders/restart", {"force": False})),
        (["restart", "orders", "--force"], ("POST", "/pipelines/orders/restart", {"force": True})),
        (
            ["rescale", "orders", "2", "--checkpoint-interval", "none"],
            ("PATCH", "/pipelines/orders", {"parallelism": 2, "checkpoint_interval_micros": None}),
        ),
        (
            ["deploy", "{script}", "--checkpoint-interval", "1 minute"],
            (
                "PUT",
                "/pipelines/by-name/orders",
                {"query": "SELECT 1", "force": False, "checkpoint_interval_micros": 60_000_000},
            ),
        ),
    ],
)
@pytest.mark.parametrize("waits", [False, True])
def test_verbs_send_what_they_say_and_wait_if_they_are_to(
    arguments: list[str],
    sent: tuple[str, str, dict[str, Any]],
    waits: bool,
    server: StandInServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server.answer = json.dumps(PIPELINE).encode()
    script = tmp_path / "orders.sql"
    script.write_text("SELECT 1")
    words = [argument.format(script=script) for argument in arguments]

    code = main([*words, *(["--wait"] if waits else []), "--url", server.url, "--token", "t"])

    method, path, _, body = server.requests[0]
    assert (code, method, path, json.loads(body)) == (0, sent[0], f"/api/v1{sent[1]}", sent[2])
    looked = [path for _, path, _, _ in server.requests[1:]]
    assert looked == (["/api/v1/pipelines/pl_1/jobs", "/api/v1/pipelines/pl_1"] if waits else [])
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("orders  pl_1  Running\n", "Running\n" if waits else "")


def test_a_job_that_fails_while_it_is_waited_for_is_exit_code_3(
    server: StandInServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.answer = json.dumps({**PIPELINE, "state": "Failed", "data": [FAILED]}).encode()
    script = tmp_path / "orders.sql"
    script.write_text("SELECT 1")

    code = main(["deploy", str(script), "--wait", "running", "--url", server.url, "--token", "t"])

    assert (code, capsys.readouterr().err) == (3, "Failed\nsql.syntax: wrong\n")


GONE = RefusedError(404, {"code": "pipeline.not_found", "detail": "there is no pipeline 'pl_1'"})


@pytest.mark.parametrize("arguments", [["watermark", "orders", "--past", "2026-01-01"], ["start", "orders", "--wait"]])
def test_a_pipeline_that_is_deleted_meanwhile_ends_the_wait_and_another_one_of_its_name_does_not_open_it(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first: dict[str, Json] = {"name": "orders", "id": "pl_1", "pipeline_id": "pl_1", "passed": False, "data": [JAVA]}
    answers: Iterator[Json | EngineError] = iter([first, first, GONE])
    asked = []

    def send(_: Client, method: str, path: str, *rest: object, **options: object) -> Json:
        asked.append(path)
        answer = next(answers)
        if isinstance(answer, EngineError):
            raise answer
        return answer

    monkeypatch.setattr(Client, "send", send)
    monkeypatch.setattr(Client, "get", lambda client, path, *_, **__: send(client, "GET", path))
    monkeypatch.setattr("time.sleep", lambda _: None)

    code = main([*arguments, "--url", "http://127.0.0.1:1", "--token", "t"])

    assert (code, asked[-1].startswith("/pipelines/pl_1/")) == (2, True)
    assert "pipeline.deleted: pipeline 'orders' (pl_1) was deleted while this command" in capsys.readouterr().err


def test_ctrl_c_leaves_the_line_of_progress_where_it_is() -> None:
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    stream = Terminal()
    with pytest.raises(KeyboardInterrupt):
        JobWatch("running", lambda: {"data": [JAVA]}, line=ProgressLine(stream), pause=interrupted).until_end()

    assert stream.getvalue() == "\r\033[KScheduling, starting Java\n"


def test_a_job_is_settled_once_what_was_asked_for_has_come(plane: Plane) -> None:
    plane.http.put("/api/v1/pipelines/by-name/orders", json={"query": "SELECT 1"})
    assert plane.job()["settled"] is False
    plane.settle()
    plane.come_up()
    assert plane.job()["settled"] is True

    plane.http.post("/api/v1/pipelines/orders/restart", json={})
    assert (plane.state(), plane.job()["settled"]) == ("Running", False)
    plane.settle()
    plane.end()
    assert (plane.state(), plane.job()["settled"]) == ("Scheduling", True)

    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"})
    plane.settle()
    assert plane.job()["settled"] is False
    plane.end()
    assert (plane.state(), plane.job()["settled"]) == ("Stopped", True)

    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "none"})
    assert (plane.state(), plane.job()["settled"]) == ("Stopped", False)


def test_another_checkpoint_interval_is_a_version_of_the_same_state(plane: Plane) -> None:
    plane.run(query="SELECT 1 INTO file:/out", checkpoint_interval_micros=5_000_000)

    plane.http.patch("/api/v1/pipelines/orders", json={"checkpoint_interval_micros": 5_000_000})
    assert plane.get("/pipelines/orders")["version"] == 1

    answer = plane.http.patch("/api/v1/pipelines/orders", json={"checkpoint_interval_micros": 30_000_000})
    plane.settle()
    plane.end()

    assert (answer.json()["version"], answer.json()["checkpoint_interval_micros"]) == (2, 30_000_000)
    assert plane.runner.launched[-1].checkpoint_interval_seconds == timedelta(seconds=30).total_seconds()
    taken = plane.http.put("/api/v1/pipelines/by-name/other", json={"query": "SELECT 2 INTO file:/out"})
    assert taken.json()["code"] == "pipeline.target_taken"
    assert plane.http.patch("/api/v1/pipelines/orders", json={"checkpoint_interval_micros": 1}).status_code == 422
