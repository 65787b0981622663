"""`arroyo connections` and `arroyo tables`: what they send, and what they say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.cli.main import main
from tests.api.stand_in_server import StandInServer


def run(server: StandInServer, *arguments: str) -> int:
    return main([*arguments, "--url", server.url, "--token", "t"])


def test_a_connection_is_sent_with_a_secret_that_is_no_argument(
    server: StandInServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "password").write_text("hush\n")
    server.answer = b'{"id": "cp_1"}'
    options = ("--option", "auth.type=sasl", "--option", "x=a=b", "--secret-option")

    code = run(
        server, "connections", "create", "shop", "--connector", "kafka", *options, f"auth.password={tmp_path}/password"
    )

    [(verb, path, _, body)] = server.requests
    assert (code, verb, path, capsys.readouterr().out) == (0, "POST", "/api/v1/connection_profiles", "cp_1\n")
    config = {"auth.type": "sasl", "x": "a=b", "auth.password": "hush"}
    assert json.loads(body) == {"name": "shop", "connector": "kafka", "config": config}


def test_last_result_of_a_connection_test_is_printed_and_sets_the_exit_code(
    server: StandInServer, capsys: pytest.CaptureFixture[str]
) -> None:
    said = {"error": True, "done": True, "message": "it is away", "hint": "start it"}
    server.answer = f'data: {{"message": "asking"}}\n\ndata: {json.dumps(said)}\n\n'.encode()

    code = run(server, "tables", "test", "o", "--connector", "kafka", "--connection", "shop", "--columns", "n BIGINT")

    assert (code, capsys.readouterr().out) == (3, "it is away\n  hint: start it\n")
    body = json.loads(server.requests[0][3])
    assert (body["connection_profile_id"], body["schema"]) == ("shop", {"columns": "n BIGINT"})


def test_columns_that_are_inferred_are_shown_as_a_table_without_secrets(
    server: StandInServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "password").write_text("hush\n")
    server.answer = json.dumps({"columns": 'n BIGINT,\n"at" TIMESTAMP', "message": "2 columns"}).encode()

    options = ("--option", "topic=it's", "--option", "format=json", "--secret-option")
    code = run(server, "tables", "schema", "o", "--connector", "kafka", *options, f"auth.password={tmp_path}/password")

    [(verb, path, _, body)] = server.requests
    assert (code, verb, path) == (0, "POST", "/api/v1/connection_tables/schemas/infer")
    assert json.loads(body)["config"] == {"topic": "it's", "format": "json", "auth.password": "hush"}
    assert (
        capsys.readouterr().out
        == """-- 2 columns
CREATE TABLE "o" (
  n BIGINT,
  "at" TIMESTAMP
) WITH (
  "connector" = 'kafka',
  "topic" = 'it''s',
  "format" = 'json',
  "auth.password" = '{{ secret:AUTH_PASSWORD }}'
);
"""
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("connections", "create"),
        ("connections", "create", "shop"),
        ("connections", "delete"),
        ("tables", "create", "o", "--connector", "kafka", "--option", "topic"),
        ("tables", "create", "o", "--connector", "kafka", "--option", "a=1", "--option", "a=2"),
        ("tables", "create", "o", "--connector", "kafka", "--secret-option", "a=/nowhere"),
    ],
)
def test_invalid_definition_is_refused_before_a_request_is_sent(
    server: StandInServer, arguments: tuple[str, ...]
) -> None:
    assert run(server, *arguments) == 2
    assert server.requests == []
