"""The command line's client, against a server that answers what the test says."""

from __future__ import annotations

import json
import ssl
from pathlib import Path
from typing import Any

import pytest

from engine.cli.base import Client, Json, RefusedError, segment
from engine.cli.main import main
from engine.cli.remote import complete_facts, held_facts
from engine.errors import RequestError, UnreachableError
from tests.api.stand_in_server import StandInServer


def problem(server: StandInServer, status: int, **fields: Any) -> None:
    server.status, server.answer = status, json.dumps(fields).encode()


def test_a_name_with_any_sign_arrives_as_one_piece_of_the_path(server: StandInServer) -> None:
    Client(server.url, "secret").get(f"/pipelines/{segment('a+b c%2F?ä')}", {"limit": 5})

    [(verb, path, headers, _)] = server.requests
    assert (verb, path) == ("GET", "/api/v1/pipelines/a%2Bb%20c%252F%3F%C3%A4?limit=5")
    assert headers["Authorization"] == "Bearer secret"


@pytest.mark.parametrize("name", ["", ".", "..", "/", "//", "a/b", "a\\b", "a\nb", "a\0b", "a" * 257, "\udcff"])
def test_invalid_name_is_refused(name: str) -> None:
    with pytest.raises(RequestError, match="is not a name") as refused:
        segment(name)

    assert "no slash" in str(refused.value.hint)


def test_request_is_json_with_its_idempotency_key(server: StandInServer) -> None:
    server.answer = b'{"id": "pl_1"}'

    answer = Client(server.url, "secret").send("PUT", "/pipelines/by-name/a", {"query": "SELECT 1"}, key="once")

    [(_, _, headers, body)] = server.requests
    assert (answer, json.loads(body)) == ({"id": "pl_1"}, {"query": "SELECT 1"})
    assert (headers["Content-Type"], headers["Idempotency-Key"]) == ("application/json", "once")


def test_an_empty_answer_is_nothing(server: StandInServer) -> None:
    server.status, server.answer = 204, b""

    assert Client(server.url, "secret").send("DELETE", "/pipelines/a", None) is None


def test_a_proxy_of_the_environment_is_not_used(server: StandInServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    assert Client(server.url, "secret").get("/ping") == {}


@pytest.mark.parametrize(("scheme", "is_read"), [("http", False), ("https", True), ("HTTPS", True)])
def test_certificates_are_read_where_they_are_checked_alone(
    scheme: str, is_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    contexts: list[ssl.SSLContext] = []

    def create_context() -> ssl.SSLContext:
        contexts.append(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        return contexts[-1]

    monkeypatch.setattr("ssl.create_default_context", create_context)

    with pytest.raises(UnreachableError):
        Client(f"{scheme}://127.0.0.1:9", "secret").get("/ping")

    assert len(contexts) == is_read


def test_a_refusal_says_why(server: StandInServer) -> None:
    problem(server, 409, code="pipeline.busy", detail="it runs", hint="stop it")

    with pytest.raises(RefusedError) as refused:
        Client(server.url, "secret").get("/pipelines/a")

    assert str(refused.value) == "pipeline.busy: it runs\n  hint: stop it"
    assert (refused.value.status, refused.value.problem_code) == (409, "pipeline.busy")


def test_a_refusal_that_is_no_json_has_its_status(server: StandInServer) -> None:
    server.status, server.answer = 502, b"<html>"

    with pytest.raises(RefusedError, match=r"http\.502: status 502"):
        Client(server.url, "secret").get("/pipelines/a")


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "127.0.0.1:5115", "http://[", "http://127.0.0.1:9999999"])
def test_hint_for_an_unreachable_control_plane_says_how_to_start_one(url: str) -> None:
    with pytest.raises(UnreachableError, match="no control plane answers at ") as lost:
        Client(url, "secret").get("/ping")

    assert lost.value.hint == "`arroyo serve` starts one"


def test_a_redirect_is_not_followed(server: StandInServer) -> None:
    server.status, server.answer = 307, b""

    with pytest.raises(UnreachableError, match="is no control plane"):
        Client(server.url, "secret").get("/ping")
    assert len(server.requests) == 1


def test_a_file_of_functions_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, udf = tmp_path / "orders.sql", tmp_path / "missing.py"
    script.write_text("SELECT 1")

    assert main(["deploy", str(script), "--udf", str(udf), "--url", "http://127.0.0.1:9", "--token", "x"]) == 2
    assert f"{udf} cannot be read: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize("state", ["Stopped", "Failed", "Finished"])
def test_a_gate_on_a_job_that_is_about_to_start_is_waited_for(server: StandInServer, state: str) -> None:
    server.script.append(json.dumps({"state": state, "settled": False, "passed": False}).encode())
    server.answer = json.dumps({"state": "Running", "settled": True, "passed": True}).encode()

    verb = ["watermark", "orders", "--past", "2026-01-01", "--url", server.url, "--token", "t"]

    assert main(verb) == 0
    assert len(server.requests) == 2


@pytest.mark.parametrize("settled", [{"settled": True}, {}], ids=["settled", "an earlier version"])
def test_a_gate_on_a_job_that_rests_is_not_waited_for(server: StandInServer, settled: dict[str, Any]) -> None:
    server.answer = json.dumps({"state": "Stopped", "passed": False, **settled}).encode()

    assert main(["watermark", "orders", "--past", "2026-01-01", "--url", server.url, "--token", "t"]) == 3
    assert len(server.requests) == 1


def test_a_restore_says_what_it_brings_back(server: StandInServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.answer = b'{"name": "orders", "id": "pl_1", "state": "Running"}'

    code = main(["restore", "orders", "sp_1", "--with-version", "--url", server.url, "--token", "t"])

    [(method, path, _, body)] = server.requests
    assert (code, method, path) == (0, "POST", "/api/v1/pipelines/orders/restore")
    assert json.loads(body) == {"savepoint_id": "sp_1", "allow_replay": False, "with_version": True}
    assert capsys.readouterr().out == "orders  pl_1  Running\n"


def test_savepoints_are_listed_with_their_versions(server: StandInServer, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"id": "sp_1", "state": "completed", "epoch": 7, "version": 2, "label": "before", "creator": "ann"}
    server.answer = json.dumps({"data": [row]}).encode()

    assert main(["savepoints", "orders", "--url", server.url, "--token", "t"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [
        ["ID", "STATE", "EPOCH", "VERSION", "BYTES", "WATERMARK", "CREATED", "RESTORABLE", "PINNED", "BY", "LABEL"],
        ["sp_1", "completed", "7", "2", "not", "verified", "ann", "before"],
    ]


def test_a_list_of_savepoints_that_is_cut_off_says_so(
    server: StandInServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.answer = json.dumps({"data": [{"id": "sp_1"}], "has_more": True}).encode()

    assert main(["savepoints", "orders", "--url", server.url, "--token", "t"]) == 0

    assert capsys.readouterr().err == "these are the newest 1000; there are older ones\n"


def test_each_sink_is_shown_with_how_far_it_is_complete() -> None:
    sinks: Json = {
        "visits": {"complete_until": None, "output_until": 1_767_225_660_000_000, "unknown": "it is made of sessions"},
        "counts": {"complete_until": 1_767_225_600_000_000, "output_until": 1_767_225_660_000_000, "unknown": None},
        "fresh": {"complete_until": None, "output_until": None, "unknown": None},
        "quiet": {"complete_until": 1_767_225_600_000_000, "unknown": None, "by_clock": ["clicks", "orders"]},
    }

    assert complete_facts({"sinks": sinks}) == [
        ("complete counts", "2026-01-01T00:00:00.000Z"),
        ("complete fresh", "unknown yet"),
        ("complete quiet", "2026-01-01T00:00:00.000Z, by the clock: clicks, orders silent"),
        ("complete visits", "not known: it is made of sessions; written up to 2026-01-01T00:01:00.000Z"),
    ]
    assert complete_facts({}) == []


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        (["savepoint", "orders"], {"label": None, "reason": None}),
        (["stop", "orders", "--savepoint"], {"label": None, "stop": "checkpoint"}),
    ],
)
def test_a_savepoint_can_be_tried_dry(
    server: StandInServer, capsys: pytest.CaptureFixture[str], verb: list[str], body: dict[str, Any]
) -> None:
    server.answer = json.dumps({"stops": True, "starts": False, "kept": ["a savepoint"]}).encode()

    assert main([*verb, "--dry-run", "--url", server.url, "--token", "t"]) == 0

    method, path, _, sent = server.requests[0]
    assert (method, path) == ("POST", "/api/v1/pipelines/orders/savepoints?dry_run=true")
    assert json.loads(sent) == body
    assert capsys.readouterr().out.splitlines() == ["stops   yes", "starts  no", "kept    a savepoint"]


def test_a_dry_run_says_what_would_happen(server: StandInServer, capsys: pytest.CaptureFixture[str]) -> None:
    effects = {"stops": True, "starts": True, "pause_micros": 4_200_000, "kept": ["a", "b"], "lost": [], "repeated": []}
    server.answer = json.dumps(effects).encode()

    assert main(["delete", "orders", "--dry-run", "--url", server.url, "--token", "t"]) == 0

    assert server.requests[0][:2] == ("DELETE", "/api/v1/pipelines/orders?dry_run=true")
    assert capsys.readouterr().out.splitlines() == ["stops   yes", "starts  yes", "pause   about 4 s", "kept    a, b"]


def test_a_dry_run_of_another_query_shows_what_becomes_of_the_state(
    server: StandInServer, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = "NAME    CHANGE\nbids-1  STATE_KEPT\n\nplan 1a2b: nothing is lost\n"
    server.answer = json.dumps({"stops": True, "starts": False, "upgrade": {"text": plan}}).encode()

    assert main(["stop", "orders", "--dry-run", "--url", server.url, "--token", "t"]) == 0

    assert capsys.readouterr().out == f"stops   yes\nstarts  no\n\n{plan}"


def test_a_name_in_a_refusal_turns_nothing_round_on_a_terminal(
    server: StandInServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem(server, 404, code="stored.not_found", detail="no table a\u202eb\u2069\x1b[2J\u2028c", hint="see \u2066d")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)

    main(["show", "p", "--url", server.url, "--token", "t"])

    assert r"no table a\u202eb\u2069\x1b[2J\u2028c" in (told := capsys.readouterr().err)
    assert r"hint: see \u2066d" in told


def test_message_for_a_held_gate_has_the_cause_and_the_remedy() -> None:
    held: dict[str, Json] = {
        "reason": "oldest_rows",
        "remedy": "a later row",
        "source": "clicks",
        "partition": "p",
        "watermark": 1_767_225_600_000_000,
        "since": 1_767_225_660_000_000,
    }

    assert held_facts({"held_by": held}) == [
        (
            "held by",
            "source clicks, partition p: the oldest rows, watermark 2026-01-01T00:00:00.000Z, "
            "since 2026-01-01T00:01:00.000Z",
        ),
        ("to move it", "a later row"),
    ]
    assert held_facts({"held_by": {"reason": "not_running", "remedy": "start the pipeline"}}) == [
        ("held by", "the pipeline does not run"),
        ("to move it", "start the pipeline"),
    ]
    assert held_facts({"held_by": None}) == held_facts({}) == []
