"""`arroyo logs`: lines for people, for programs, and those that come."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from engine.cli.base import RefusedError
from engine.cli.main import main
from engine.cli.pipelines.logs import as_json, lines_after, readable
from engine.cli.waiting import Follower
from engine.errors import EngineError, UnreachableError
from tests.api.stand_in_server import StandInServer

ENTRY: dict[str, Any] = {
    "time": "2026-01-01T10:00:00.123Z",
    "level": "info",
    "job": "job_1",
    "run": 3,
    "epoch": None,
    "text": "starting Java",
}
LINE = json.dumps(ENTRY)
PLAIN = "Thread 0x7f (most recent call first):"


def test_an_entry_is_a_line_for_people_and_what_is_none_stays_as_it_is() -> None:
    failure = {**ENTRY, "level": "error", "epoch": 7, "code": "data.broken", "hint": "mend it", "trace": "Traceback"}

    assert readable(LINE) == "2026-01-01 10:00:00 INFO  run 3  starting Java"
    assert readable(json.dumps(failure)) == (
        "2026-01-01 10:00:00 \033[31mERROR\033[0m run 3 epoch 7  data.broken: starting Java\n  hint: mend it\nTraceback"
    )
    for line in (PLAIN, "", "7", '{"n": 1}', "[" * 100_000):
        assert readable(line) == line


def test_for_programs_every_line_is_json() -> None:
    assert as_json(LINE) == LINE
    assert json.loads(as_json(PLAIN)) == {"text": PLAIN}
    assert json.loads(as_json("7")) == {"text": "7"}


def test_lines_are_piped_as_they_are(server: StandInServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.answer = json.dumps({"data": [LINE, PLAIN], "cursor": "1-9", "over": True}).encode()

    codes = [main(["logs", "orders", *form, "--url", server.url, "--token", "t"]) for form in ([], ["--json"], ["-f"])]

    assert codes == [0, 0, 0]
    assert capsys.readouterr().out.splitlines() == [LINE, PLAIN, LINE, json.dumps({"text": PLAIN}), LINE, PLAIN]


def follow(*answers: dict[str, Any] | EngineError) -> tuple[list[str], list[str], float]:
    """The lines, the cursors that were asked for, and the seconds that passed."""
    asked: list[str] = []
    now = [0.0]
    coming = iter(answers)

    def look(cursor: str) -> Any:
        asked.append(cursor)
        answer = next(coming)
        if isinstance(answer, EngineError):
            raise answer
        return answer

    def pause(seconds: float) -> None:
        now[0] += seconds

    follower = Follower(look, lambda: now[0], pause)
    return list(lines_after({"data": ["shown"], "cursor": "1-5", "over": False}, follower)), asked, now[0]


def test_whoever_follows_sees_each_line_once_and_ends_with_the_job() -> None:
    lines, asked, seconds = follow(
        {"data": [], "cursor": "1-5", "over": False},
        {"data": ["a", "b"], "cursor": "1-9", "has_more": True, "over": False},
        {"data": ["c"], "cursor": "2-2", "over": False},
        {"data": ["d"], "cursor": "2-4", "over": True},
    )

    assert (lines, asked, seconds) == (["a", "b", "c", "d"], ["1-5", "1-5", "1-9", "2-2"], 3.0)


def test_whoever_follows_waits_for_a_control_plane_that_restarts() -> None:
    away = UnreachableError("no control plane answers")

    assert follow(away, away, {"data": ["a"], "cursor": "1-7", "over": True})[0] == ["a"]
    with pytest.raises(UnreachableError):
        follow(*[away] * 60)


def test_a_control_plane_that_knows_no_cursor_shows_what_it_has() -> None:
    assert list(lines_after({"data": ["a"]}, Follower(lambda _: {}))) == []


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (["logs", "orders", "-f"], {"data": ["here"], "cursor": "1-5", "over": False}),
        (["events", "-f", "--json"], {"data": [{"id": 1, "message": "here"}]}),
        (["tail", "orders"], {"data": [{"n": "here"}], "cursor": "1", "over": False}),
    ],
)
def test_existing_log_lines_are_printed_before_the_command_follows_the_log(
    arguments: list[str], first: dict[str, Any], server: StandInServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped = io.BytesIO()
    shown: list[bytes] = []

    def look_at_the_pipe(*_: object) -> Iterator[str]:
        shown.append(piped.getvalue())
        return iter(())

    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(piped))
    monkeypatch.setattr(Follower, "answers", look_at_the_pipe)
    server.answer = json.dumps(first).encode()

    assert main([*arguments, "--url", server.url, "--token", "t"]) == 0

    assert len(shown) == 1
    assert b"here" in shown[0]


def test_whoever_follows_waits_for_an_answer_that_is_none_now() -> None:
    ill = RefusedError(503, {"code": "server.store_unavailable"})

    assert follow(ill, {"data": ["a"], "cursor": "1-7", "over": True})[0] == ["a"]
    with pytest.raises(RefusedError):
        follow(RefusedError(404, {"code": "pipeline.not_found"}))


HOSTILE = "\033]0;owned\007\033[2J\x9b31mred\r"
SPELLED = "\\x1b]0;owned\\x07\\x1b[2J\\x9b31mred\\x0d"


def test_control_sequences_in_logs_are_escaped(
    server: StandInServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    event = {"id": 1, "message": HOSTILE, "level": "error", "pipeline": "orders"}
    assert readable(HOSTILE) == SPELLED
    assert readable(json.dumps({**ENTRY, "text": HOSTILE, "hint": HOSTILE})).count(SPELLED) == 2
    connection = ["--url", server.url, "--token", "t"]

    server.answer = json.dumps({"data": [event]}).encode()
    assert main(["events", *connection]) == 0
    assert HOSTILE in capsys.readouterr().out
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    assert main(["events", *connection]) == 0
    server.status, server.answer = 409, json.dumps({"code": "pipeline.busy", "detail": HOSTILE}).encode()
    assert main(["show", "orders", *connection]) == 2

    shown = capsys.readouterr()
    assert [HOSTILE in text or SPELLED not in text for text in (shown.out, shown.err)] == [False, False]
