"""No verb answers bad arguments, or a server that is none, with a traceback."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest
from sqlalchemy.exc import OperationalError

from engine.cli.main import main
from engine.cli.remote import is_same_place
from engine.cli.verbs import COMMANDS, REMOTE, Verb
from tests.api.stand_in_server import StandInServer

ARGUMENTS: dict[str, list[str]] = {
    "run": ["{script}"],
    "check": ["{script}"],
    "explain": ["{script}"],
    "lineage": ["{script}"],
    "state": ["ls", "{script}"],
    "plan": ["{script}", "--state-dir", "{script}"],
    "rehearse": ["{script}", "--state-dir", "{script}"],
    "upgrade": ["{script}", "--rehearse", "--state-dir", "{script}"],
    "serve": ["--port", "0"],
    "doctor": ["storage", "{script}"],
    "deploy": ["{script}"],
    "list": [],
    "show": ["orders"],
    "start": ["orders"],
    "stop": ["orders"],
    "restart": ["orders"],
    "savepoint": ["orders"],
    "savepoints": ["orders"],
    "restore": ["orders", "sp_1"],
    "rollback": ["orders"],
    "fork": ["sp_1", "copies", "--sql", "{script}"],
    "move": ["orders", "--to", "http://127.0.0.1:1"],
    "rehearsals": ["orders"],
    "reprocess": ["orders", "--into", "copies"],
    "rescale": ["orders", "2"],
    "logs": ["orders"],
    "events": ["orders"],
    "tail": ["orders"],
    "watermark": ["orders"],
    "delete": ["orders"],
    "partitions": ["show", "hours"],
    "token": ["create", "ann"],
    "connections": ["list"],
    "tables": ["list"],
    "sweep": [],
    "top": ["--once"],
    "ui": ["--no-browser"],
    "warm": ["show"],
    "backup": ["{script}.backup"],
    "restore-backup": ["{script}"],
    "jars": ["--from", "{script}"],
    "package": ["--output", "{script}"],
    "completion": ["bash"],
}
"""What each verb needs at least."""
REMOTE_VERBS = [command.name for command in REMOTE if command.name != "serve"]
ANSWERS = {
    "a page of HTML": b"<html><body>Welcome</body></html>",
    "a list": b"[1, 2]",
    "a number": b"7",
    "nothing at all": b"",
    "bytes": b"\xff\xfe\x00",
}
OBJECTS = {
    "another object": b'{"hello": "world"}',
    "rows of another kind": b'{"data": [{"hello": "world"}, 7], "has_more": false}',
}


@pytest.mark.parametrize(
    ("parallelism", "complaint"),
    [("0", "greater than zero"), ("²", "greater than zero"), ("1025", "at most 1,024 run in parallel")],
)
def test_a_run_refuses_a_parallelism_that_cannot_be(
    parallelism: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["run", "orders.sql", "--parallelism", parallelism])

    assert complaint in capsys.readouterr().err


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "orders.sql"
    path.write_text("SELECT 1")
    return path


@pytest.fixture(autouse=True)
def _no_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("ARROYO"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def arguments_of(verb: str, script: Path | str, *further: str) -> list[str]:
    return [verb, *(argument.format(script=script) for argument in ARGUMENTS[verb]), *further]


def answer_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """The exit code of a command and what it complains of; argparse's own refusals among them."""
    try:
        code = main(arguments)
    except SystemExit as refused:
        code = int(str(refused.code))
    complaint = capsys.readouterr().err
    assert "Traceback" not in complaint
    return code, complaint


def test_every_verb_is_tried() -> None:
    assert sorted(ARGUMENTS) == sorted(command.name for command in COMMANDS)


def broken_files(folder: Path) -> dict[str, Path]:
    """Files that cannot be read as text."""
    binary = folder / "binary"
    binary.write_bytes(b"SELECT \xff\xfe")
    (folder / "directory").mkdir()
    return {"missing": folder / "missing", "directory": folder / "directory", "not UTF-8": binary}


@pytest.mark.parametrize("kind", ["missing", "directory", "not UTF-8"])
@pytest.mark.parametrize(
    ("verb", "option"),
    [
        *((verb, None) for verb in ("run", "check", "explain", "lineage", "plan", "rehearse", "deploy")),
        *((verb, "--udf") for verb in ("run", "check", "explain", "lineage", "plan", "rehearse", "deploy")),
        *((verb, "--connections") for verb in ("run", "check", "explain", "lineage", "plan", "rehearse")),
        *((verb, "--old-udf") for verb in ("plan", "rehearse")),
        ("deploy", "--secret"),
        ("serve", "--config"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    verb: str, option: str | None, kind: str, script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = str(broken_files(tmp_path)[kind])
    spelling = f"KAFKA={broken}" if option == "--secret" else broken
    arguments = arguments_of(verb, broken) if option is None else arguments_of(verb, script, option, spelling)

    code, complaint = answer_of(capsys, *arguments)

    assert (code, broken in complaint) == (2, True), complaint


@pytest.mark.parametrize("text", [b"[api\nport", b"port = \xff", b"api = 7"])
def test_a_file_of_settings_that_is_none_is_refused(
    text: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "arroyo.toml"
    config.write_bytes(text)

    code, complaint = answer_of(capsys, "serve", "--config", str(config))

    assert code == 2, complaint


@pytest.mark.parametrize("port", ["many", "99999", "-1", "1.5"])
def test_a_port_that_is_none_is_refused(port: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, complaint = answer_of(capsys, "serve", f"--port={port}", "--data-dir", str(tmp_path / "data"))

    assert (code, "port" in complaint) == (2, True)


@pytest.mark.parametrize("host", ["no such host", "256.1.1.1"])
def test_an_address_that_cannot_be_listened_on_is_refused(
    host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["serve", "--insecure", "--host", host, "--port", "0", "--data-dir", str(tmp_path / "data")]

    code, complaint = answer_of(capsys, *arguments)

    assert (code, "listen" in complaint) == (2, True), complaint


def test_a_database_without_room_at_the_start_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def admit_token(*_: object) -> NoReturn:
        raise OperationalError("INSERT", {}, sqlite3.OperationalError("database or disk is full"))

    monkeypatch.setattr("engine.server._admit_token", admit_token)

    code, complaint = answer_of(capsys, "serve", "--port", "0", "--data-dir", str(tmp_path / "data"))

    assert (code, "database or disk is full" in complaint, "room on the disk" in complaint) == (2, True, True)


@pytest.mark.parametrize("verb", ["serve", "backup", "restore-backup", *REMOTE_VERBS])
def test_a_data_directory_that_is_a_file_is_said_to_be_one(
    verb: str, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, complaint = answer_of(capsys, *arguments_of(verb, script, "--data-dir", str(script)))

    assert (code in (2, 3), str(script) in complaint) == (True, True), complaint


@pytest.mark.parametrize("name", ["ARROYO__PIPELINE__LEASE", "ARROYO__NO__SUCH"])
@pytest.mark.parametrize("verb", ["serve", *REMOTE_VERBS])
def test_a_setting_of_the_environment_that_is_wrong_is_refused(
    verb: str, name: str, script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, "many")

    code, complaint = answer_of(capsys, *arguments_of(verb, script))

    assert (code, complaint.startswith("setting.invalid")) == (2, True), complaint


@pytest.mark.parametrize("verb", REMOTE_VERBS)
@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "http://127.0.0.1:many", "nonsense"])
def test_an_address_at_which_nobody_answers_is_named(
    verb: str, url: str, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, complaint = answer_of(capsys, *arguments_of(verb, script, "--url", url, "--token", "t"))

    assert code == 3
    assert complaint.startswith(f"server.unreachable: no control plane answers at {url}")


@pytest.mark.parametrize("token", ["tökén", "two\nlines"])
@pytest.mark.parametrize("verb", REMOTE_VERBS)
def test_a_token_that_no_request_can_carry_is_refused(
    verb: str, token: str, server: StandInServer, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, complaint = answer_of(capsys, *arguments_of(verb, script, "--url", server.url, "--token", token))

    assert (code, "token" in complaint, token in complaint) == (2, True, False), complaint
    assert server.requests == []


@pytest.mark.parametrize("kind", ["directory", "not UTF-8"])
@pytest.mark.parametrize("verb", REMOTE_VERBS)
def test_a_file_of_the_token_that_cannot_be_read_is_named(
    verb: str, kind: str, server: StandInServer, script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    broken_files(tmp_path)[kind].rename(data / "token")

    code, complaint = answer_of(capsys, *arguments_of(verb, script, "--url", server.url, "--data-dir", str(data)))

    assert (code, str(data / "token") in complaint) == (2, True), complaint


@pytest.mark.parametrize("text", [b"\xff", b"[]", b'{"url": 7}'])
@pytest.mark.parametrize("verb", REMOTE_VERBS)
def test_an_address_file_that_says_nothing_is_as_good_as_none(
    verb: str,
    text: bytes,
    script: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "server.json").write_bytes(text)
    monkeypatch.setattr("engine.cli.remote.DEFAULT_URL", "http://127.0.0.1:9")

    code, complaint = answer_of(capsys, *arguments_of(verb, script, "--token", "t", "--data-dir", str(data)))

    assert (code, complaint.startswith("server.unreachable")) == (3, True), complaint


def test_a_data_directory_that_is_named_is_stronger_than_the_environment(
    server: StandInServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = StandInServer()
    monkeypatch.setenv("ARROYO_URL", other.url)
    monkeypatch.setenv("ARROYO_TOKEN", "of the other one")
    data = tmp_path / "data"
    data.mkdir()
    (data / "server.json").write_text(json.dumps({"url": server.url}))
    (data / "token").write_text("of this one")

    assert answer_of(capsys, "delete", "orders", "--data-dir", str(data)) == (0, "")
    monkeypatch.setattr("engine.cli.remote.DEFAULT_URL", "http://127.0.0.1:9")
    code, complaint = answer_of(capsys, "delete", "orders", "--data-dir", str(tmp_path / "mistyped"))

    [(method, _, headers, _)] = server.requests
    assert (method, headers["Authorization"], other.requests) == ("DELETE", "Bearer of this one", [])
    assert (code, complaint.startswith("server.unreachable")) == (3, True)
    other.close()


@pytest.mark.parametrize("is_written", [True, False])
@pytest.mark.parametrize("by", ["argument", "environment"])
def test_the_token_of_a_data_directory_is_sent_to_no_other_control_plane(
    by: str,
    is_written: bool,
    server: StandInServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ARROYO_HOME", str(tmp_path))
    if by == "environment":
        monkeypatch.setenv("ARROYO_URL", server.url)
    if is_written:
        (tmp_path / "server.json").write_text(json.dumps({"url": "http://127.0.0.1:9"}))
    (tmp_path / "token").write_text("of this one")

    code, complaint = answer_of(capsys, "delete", "orders", *(["--url", server.url] if by == "argument" else []))

    assert (code, server.requests) == (2, [])
    assert complaint.startswith(f"request.invalid: the token of {tmp_path} is not sent to {server.url}")
    assert "--token" in complaint


def test_a_data_directory_in_which_nothing_works_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ARROYO_HOME", str(tmp_path))
    monkeypatch.delenv("ARROYO_URL", raising=False)
    (tmp_path / "token").write_text("of one that was stopped")

    code, complaint = answer_of(capsys, "list")

    assert code == 3
    assert complaint.startswith(f"server.unreachable: no control plane works in {tmp_path}")
    assert "arroyo serve" in complaint


def test_the_token_of_a_data_directory_goes_to_the_address_that_is_written_there(
    server: StandInServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ARROYO_HOME", str(tmp_path))
    (tmp_path / "server.json").write_text(json.dumps({"url": server.url}))
    (tmp_path / "token").write_text("of this one")
    port = server.url.rpartition(":")[2]

    for url in (server.url, f"{server.url}/", f"http://localhost:{port}", f"HTTP://[::1]:{port}/x"):
        assert answer_of(capsys, "delete", "orders", "--url", url) == (0, "")

    assert [headers["Authorization"] for _, _, headers, _ in server.requests] == ["Bearer of this one"] * 4


@pytest.mark.parametrize(
    ("address", "is_same"),
    [
        ("http://plane", True),
        ("http://plane:80/x", True),
        ("http://PLANE", True),
        ("https://plane", False),
        ("http://plane:5115", False),
        ("http://plane@elsewhere", False),
        ("http://localhost", False),
        ("http://plane:99999999", False),
        ("http://[", False),
        ("plane", False),
    ],
)
def test_an_address_means_the_control_plane_that_has_written_down_the_same_place(address: str, is_same: bool) -> None:
    assert is_same_place(address, "http://plane:80") is is_same


def test_without_one_the_environment_says_which_control_plane_is_meant(
    server: StandInServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ARROYO_URL", server.url)
    monkeypatch.setenv("ARROYO_TOKEN", "of the environment")

    assert answer_of(capsys, "delete", "orders") == (0, "")

    assert server.requests[0][2]["Authorization"] == "Bearer of the environment"


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("verb", REMOTE_VERBS)
def test_a_server_that_is_no_control_plane_is_said_to_be_none(
    verb: str, answer: bytes, server: StandInServer, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.answer = answer

    code, complaint = answer_of(capsys, *arguments_of(verb, script, "--url", server.url, "--token", "t"))

    assert (code, "is no control plane" in complaint) == (3, True), complaint


@pytest.mark.parametrize("answer", OBJECTS.values(), ids=OBJECTS)
@pytest.mark.parametrize("verb", REMOTE_VERBS)
def test_an_answer_of_another_shape_is_no_traceback(
    verb: str, answer: bytes, server: StandInServer, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.answer = answer

    code, complaint = answer_of(capsys, *arguments_of(verb, script, "--url", server.url, "--token", "t"))

    assert code == 0 or "is no control plane" in complaint, complaint


@pytest.mark.parametrize("verb", ARGUMENTS)
def test_ctrl_c_ends_a_verb_with_130(
    verb: str, script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(Verb, "run", interrupted)

    assert answer_of(capsys, *arguments_of(verb, script)) == (130, "")


@pytest.mark.parametrize(("verb", "code"), [(["completion", "bash"], 3), (["--help"], 0)])
def test_whoever_closes_the_pipe_sees_no_complaint(verb: list[str], code: int, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with subprocess.Popen(
        [sys.executable, "-m", "engine", *verb], stdout=writing, stderr=subprocess.PIPE, cwd=tmp_path
    ) as process:
        os.close(writing)
        _, complaint = process.communicate(timeout=60)

    assert (process.returncode, complaint) == (code, b"")


@pytest.mark.parametrize(
    "arguments",
    [
        ["deploy", "{script}", "--parallelism", "many"],
        ["rescale", "orders", "many"],
        ["logs", "orders", "--limit", "many"],
        ["watermark", "orders", "--timeout", "long"],
        ["deploy", "{script}", "--set", "memory"],
        ["deploy", "{script}", "--secret", "NOBODY_HAS_SET_IT"],
        ["token", "create", "ann", "--expires-in", "soon"],
        ["token", "create", "ann", "--expires-in", "9999999 days"],
        ["token", "create"],
        ["run", "{script}", "--set", "memory"],
        ["run", "{script}", "--state-dir", "{script}"],
        ["run", "{script}", "--parallelism", "0"],
        ["nothing"],
    ],
)
def test_an_argument_that_is_not_what_it_has_to_be_is_refused(
    arguments: list[str], script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, complaint = answer_of(capsys, *(argument.format(script=script) for argument in arguments))

    assert (code, complaint != "") == (2, True), complaint


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "\udcff"],
        ["deploy", "{script}", "--name", "\udcff"],
        ["deploy", "{script}", "--set", "memory=\udcff"],
        ["events", "--since", "\udcff"],
        ["tail", "orders", "\udcff"],
        ["restore", "orders", "\udcff"],
        ["token", "create", "\udcff"],
        ["delete", "orders", "--url", "http://\udcff"],
    ],
)
def test_an_argument_that_is_not_utf_8_is_refused(
    arguments: list[str], server: StandInServer, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    connection = ["--token", "t", *([] if "--url" in arguments else ["--url", server.url])]

    code, complaint = answer_of(capsys, *(argument.format(script=script) for argument in arguments), *connection)

    assert (code, "not UTF-8 text" in complaint, server.requests) == (2, True, []), complaint


@pytest.mark.parametrize(
    "arguments",
    [
        ["watermark", "orders", "--past", ""],
        ["watermark", "orders", "--past", "2026-01-01", "--table", ""],
        ["delete", "orders", "--url", ""],
        ["delete", "orders", "--token", ""],
        ["delete", "orders", "--data-dir", ""],
        ["delete", ""],
        ["deploy", "{script}", "--name", ""],
        ["deploy", ""],
        ["events", "--since", ""],
        ["token", "revoke", ""],
        ["tail", "orders", ""],
        ["serve", "--data-dir", ""],
        ["serve", "--config", ""],
        ["serve", "--host", ""],
        ["backup", ""],
        ["run", "{script}", "--state-dir", ""],
        ["run", "{script}", "--name", ""],
    ],
)
def test_an_empty_argument_is_not_taken_for_one_that_is_left_out(
    arguments: list[str],
    server: StandInServer,
    script: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ARROYO_URL", server.url)
    server.answer = b'{"state": "Running"}'

    code, complaint = answer_of(capsys, *(argument.format(script=script) for argument in arguments))

    assert (code, "is empty" in complaint, server.requests) == (2, True, []), complaint


NAMED = [
    ["deploy", "{script}", "--name", "{name}"],
    *([verb, "{name}"] for verb in ("show", "start", "stop", "restart", "savepoint", "savepoints", "logs", "events")),
    *([verb, "{name}"] for verb in ("tail", "watermark", "delete")),
    ["restore", "{name}", "sp_1"],
    ["rescale", "{name}", "2"],
    ["token", "revoke", "{name}"],
]
"""Each verb that takes a name."""


@pytest.mark.parametrize("name", ["team/orders", "a\\b"])
@pytest.mark.parametrize("arguments", NAMED, ids=lambda arguments: str(arguments[0]))
def test_invalid_name_is_refused_before_it_is_sent(
    arguments: list[str], name: str, server: StandInServer, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spelt = [argument.format(script=script, name=name) for argument in arguments]

    code, complaint = answer_of(capsys, *spelt, "--url", server.url, "--token", "t")

    assert (code, "is not a name" in complaint, "no slash" in complaint) == (2, True, True), complaint
    assert server.requests == []
