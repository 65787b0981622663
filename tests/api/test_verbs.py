"""How the verbs of the command line are spelled, and the forms of their answers."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.cli.main import main
from engine.jobs.disk import make
from engine.jobs.processes.processes import try_lock
from tests.api.stand_in_server import StandInServer

LONG = "a" * 90
ROWS: list[dict[str, Any]] = [
    {"id": "pl_1", "name": "fine", "state": "Running", "lag_micros": 90_000_000, "rows_per_second": 5.0, "restarts": 0},
    {"id": "pl_2", "name": LONG, "state": "CheckpointStopping", "lag_micros": None, "restarts": 123},
    {"id": "pl_3", "name": "bad", "state": "Failed", "lag_micros": None, "rows_per_second": None, "restarts": 3},
]


@pytest.fixture
def server() -> Iterator[StandInServer]:
    server = StandInServer()
    server.answer = json.dumps({"data": ROWS, "has_more": False}).encode()
    yield server
    server.close()


def ask(server: StandInServer, *arguments: str) -> int:
    return main([*arguments, "--url", server.url, "--token", "t"])


def test_a_list_fits_80_columns_and_has_the_worst_first(
    server: StandInServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(server, "list") == 0

    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["NAME", "STATE", "LAG", "ROWS/S", "RESTARTS"]
    assert [line.split()[0][:4] for line in lines] == ["bad", "aaaa", "fine"]
    assert max(map(len, lines)) <= 80
    assert "1 min 30 s" in lines[-1]
    assert "\033" not in "".join(lines)


def test_a_list_is_sorted_as_asked(server: StandInServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(server, "list", "--sort", "name") == 0

    assert [line[:3] for line in capsys.readouterr().out.splitlines()[1:]] == ["aaa", "bad", "fin"]


@pytest.mark.parametrize("is_plain", [False, True])
def test_a_list_is_coloured_on_a_terminal_that_wants_it(
    server: StandInServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, is_plain: bool
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    if is_plain:
        monkeypatch.setenv("NO_COLOR", "1")

    assert ask(server, "list") == 0

    assert ("\033[31mbad" in capsys.readouterr().out) == (not is_plain)


def test_a_list_has_more_forms(server: StandInServer, capsys: pytest.CaptureFixture[str]) -> None:
    answers = {}
    for form in ("wide", "json", "yaml"):
        assert ask(server, "list", "-o", form) == 0
        answers[form] = capsys.readouterr().out
    assert ask(server, "list", "--json") == 0

    assert capsys.readouterr().out == answers["json"]
    assert [row["name"] for row in json.loads(answers["json"])["data"]] == ["bad", LONG, "fine"]
    assert "COMPLETE UNTIL" in answers["wide"]
    assert '- id: "pl_3"\n  name: "bad"\n  state: "Failed"\n  lag_micros: null\n' in answers["yaml"]
    assert ask(server, "list", "--json", "-o", "yaml") == 2


@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        (["rescale", "orders", "4"], {"parallelism": 4}),
        (["rescale", "orders", "--to", "4"], {"parallelism": 4}),
        (["rollback", "orders", "--to", "1"], {"to": 1}),
        (["rollback", "orders", "1"], {"to": 1}),
        (["rollback", "orders"], {}),
        (["savepoint", "take", "orders"], {"label": None, "reason": None}),
        (["savepoint", "orders"], {"label": None, "reason": None}),
    ],
)
def test_old_and_new_spellings_ask_for_the_same(
    server: StandInServer, arguments: list[str], body: dict[str, Any]
) -> None:
    server.answer = json.dumps({"id": "x", "name": "orders", "state": "completed"}).encode()

    assert ask(server, *arguments) == 0

    assert json.loads(server.requests[0][3]) == body


@pytest.mark.parametrize(
    "arguments",
    [["rescale", "orders"], ["rescale", "orders", "4", "--to", "5"], ["rollback", "orders", "1", "--to", "2"]],
)
def test_a_number_that_is_missing_or_given_twice_is_refused(
    server: StandInServer, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(server, *arguments) == 2
    assert (server.requests, capsys.readouterr().err.startswith("request.invalid: ")) == ([], True)


def test_savepoints_are_listed_by_either_spelling(server: StandInServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.answer = json.dumps({"data": [{"id": "sp_1", "state": "completed"}]}).encode()

    answers = []
    for arguments in (["savepoint", "list", "orders"], ["savepoints", "orders"]):
        assert ask(server, *arguments) == 0
        answers.append(capsys.readouterr().out)

    assert answers[0] == answers[1]
    assert "sp_1" in answers[0]
    assert [path for _, path, _, _ in server.requests] == ["/api/v1/pipelines/orders/savepoints?limit=1000"] * 2


def test_check_answers_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.sql", tmp_path / "bad.sql"
    good.write_text(
        "CREATE TABLE a (n BIGINT) WITH (connector = 'impulse', event_rate = '1');\n"
        "CREATE TABLE b (n BIGINT) WITH (connector = 'blackhole', type = 'sink');\n"
        "INSERT INTO b SELECT counter FROM a;"
    )
    good.write_text(good.read_text().replace("a (n BIGINT)", "a"))
    bad.write_text("SELECT x FROM nothing")

    assert main(["check", str(good), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "ok": True,
        "errors": [],
        "warnings": [],
        "sources": ["a"],
        "sinks": ["b"],
    }
    assert main(["check", str(bad), "--json"]) == 2
    answer = json.loads(capsys.readouterr().out)
    assert (answer["ok"], answer["errors"][0]["code"]) == (False, "sql.unknown_table")
    assert set(answer["errors"][0]) == {"code", "message", "hint", "at"}


@pytest.mark.parametrize("pipeline_id", [make("pl"), "../x", 7], ids=["an id", "a path", "a number"])
@pytest.mark.parametrize("action", ["verify", "doctor", "ls"])
def test_a_state_is_found_by_its_pipeline_on_the_machine_of_the_control_plane(
    server: StandInServer, action: str, pipeline_id: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.answer = json.dumps({"id": pipeline_id, "name": "orders"}).encode()

    code = ask(server, "state", action, "--pipeline", "orders", "--data-dir", str(tmp_path))

    error = capsys.readouterr().err
    assert (code, "the state of orders is not in the data directory" in error) == (2, True), error
    assert "--state-dir" not in error


def test_a_control_plane_is_stopped_by_its_data_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = try_lock(tmp_path / "server.lock")
    assert lock is not None
    (tmp_path / "server.json").write_text(json.dumps({"url": "http://127.0.0.1:7", "pid": os.getpid()}))
    ended: list[int] = []

    def end(pid: int, _: int) -> None:
        ended.append(pid)
        lock.close()

    monkeypatch.setattr(os, "kill", end)

    assert main(["serve", "--stop", "--data-dir", str(tmp_path)]) == 0
    assert ended == [os.getpid()]
    assert "http://127.0.0.1:7 has stopped; its pipelines run on" in capsys.readouterr().out
    assert main(["serve", "--stop", "--data-dir", str(tmp_path)]) == 3
    assert (ended, "no control plane works in" in capsys.readouterr().err) == ([os.getpid()], True)


def test_another_process_of_that_number_is_let_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = try_lock(tmp_path / "server.lock")
    assert lock is not None
    (tmp_path / "server.json").write_text(json.dumps({"url": "http://127.0.0.1:7", "pid": 1}))
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("nobody is to be ended"))

    assert main(["serve", "--stop", "--data-dir", str(tmp_path)]) == 3
    lock.close()
