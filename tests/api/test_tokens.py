"""Named tokens: shown once, kept as hashes, taken back at once, and named by every event."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.cli.base import Client
from engine.cli.server import token as verb
from engine.control.access import Admission
from engine.jobs.decisions.intend import describe_change
from engine.jobs.decisions.spec import Pipeline, Restore
from engine.jobs.disk import DataDirectory
from engine.server import _admit_token
from engine.settings import ApiSettings
from engine.store.access import tokens
from engine.store.database import open_database
from engine.values.instants import to_micros
from tests.api.conftest import T0, TOKEN, Plane


def create(plane: Plane, name: str = "airflow", **body: Any) -> Any:
    return plane.http.post("/api/v1/tokens", json={"name": name, **body})


def as_bearer(value: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {value}"}


def listed(plane: Plane) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = plane.get("/tokens")["data"]
    return shown


def test_a_named_token_is_let_in_until_it_is_revoked(plane: Plane) -> None:
    value = create(plane).json()["token"]
    assert plane.http.get("/api/v1/pipelines", headers=as_bearer(value)).status_code == 200

    assert plane.http.delete("/api/v1/tokens/airflow").status_code == 204

    assert plane.http.get("/api/v1/pipelines", headers=as_bearer(value)).status_code == 401
    [shown] = listed(plane)
    assert (shown["name"], shown["valid"], shown["revoked_at"]) == ("airflow", False, to_micros(T0))


def test_a_token_ends_when_it_was_told_to(plane: Plane) -> None:
    value = create(plane, expires_at=to_micros(T0 + timedelta(days=1))).json()["token"]
    plane.now = T0 + timedelta(hours=23)
    assert plane.http.get("/api/v1/pipelines", headers=as_bearer(value)).status_code == 200

    plane.now = T0 + timedelta(days=1)

    assert plane.http.get("/api/v1/pipelines", headers=as_bearer(value)).status_code == 401
    assert [shown["valid"] for shown in listed(plane)] == [False]


def test_a_value_is_shown_once_and_kept_nowhere(plane: Plane, tmp_path: Path) -> None:
    value = create(plane).json()["token"]

    assert value not in str(listed(plane))
    assert [path for path in tmp_path.rglob("*") if path.is_file() and value.encode() in path.read_bytes()] == []


def test_tokens_are_let_in_again_after_a_restart(plane: Plane) -> None:
    value = create(plane).json()["token"]
    admission = Admission()

    with plane.context.database.reading() as connection:
        admission.load(tokens.named(connection))

    found = admission.caller(value, frozenset(), lambda: T0)
    assert found is not None
    assert found.name == "airflow"
    assert admission.caller("", frozenset(), lambda: T0) is None


def test_a_file_of_the_token_that_is_no_text_is_written_anew(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    database = open_database(directory)
    directory.token.write_bytes(b"\xff\xfe")

    token = _admit_token(database, directory, ApiSettings())

    assert (directory.token.read_text(), _admit_token(database, directory, ApiSettings())) == (f"{token}\n", token)
    database.close()


@pytest.mark.parametrize(("method", "path"), [("POST", "/tokens"), ("GET", "/tokens"), ("DELETE", "/tokens/airflow")])
def test_only_the_admin_looks_after_tokens(plane: Plane, method: str, path: str) -> None:
    value = create(plane).json()["token"]

    refused = plane.http.request(method, f"/api/v1{path}", json={"name": "mine"}, headers=as_bearer(value))

    assert (refused.status_code, refused.json()["code"]) == (403, "auth.admin_only")


def test_a_name_has_one_token_that_is_let_in(plane: Plane) -> None:
    create(plane, expires_at=to_micros(T0 + timedelta(days=1)))
    taken = create(plane)
    assert (taken.status_code, taken.json()["code"]) == (409, "token.exists")

    plane.now = T0 + timedelta(days=2)
    assert create(plane).status_code == 201
    plane.http.delete("/api/v1/tokens/airflow")
    assert create(plane).status_code == 201
    assert [shown["valid"] for shown in listed(plane)] == [False, False, True]


def test_a_token_that_does_not_exist_cannot_be_revoked(plane: Plane) -> None:
    refused = plane.http.delete("/api/v1/tokens/nobody")

    assert (refused.status_code, refused.json()["code"]) == (404, "token.not_found")


@pytest.mark.parametrize(
    "body", [{"name": "admin"}, {"name": ""}, {"name": "a b"}, {"name": "x", "expires_at": to_micros(T0)}, {}]
)
def test_invalid_token_name_is_refused(plane: Plane, body: dict[str, Any]) -> None:
    assert plane.http.post("/api/v1/tokens", json=body).status_code == 422
    assert listed(plane) == []


def test_events_say_who_has_asked(plane: Plane) -> None:
    plane.run()
    value = create(plane, "ana").json()["token"]

    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"}, headers=as_bearer(value))
    plane.http.post("/api/v1/pipelines/orders/savepoints", headers=as_bearer(value))
    plane.settle()

    events = [(event["who"], event["message"]) for event in plane.get("/pipelines/orders/events")["data"]]
    assert ("admin", "version 1 was deployed") in events
    assert ("ana", "stop requested (checkpoint)") in events
    assert [who for who, message in events if message.startswith("savepoint sp_")] == ["ana"]
    assert ("ana", "Running to CheckpointStopping") in events


def test_a_request_that_changes_nothing_leaves_no_event(plane: Plane) -> None:
    plane.run()
    before = plane.get("/pipelines/orders/events")["data"]

    plane.deploy()

    assert plane.get("/pipelines/orders/events")["data"] == before


def test_every_change_has_its_words() -> None:
    before = Pipeline("pl_a", "orders", "job_a", 1, 1, T0)
    after = Pipeline("pl_a", "orders", "job_a", 2, 3, T0, "graceful", 1, restore=Restore("sp_a", 3))

    assert describe_change(None, before) == "version 1 was deployed"
    assert describe_change(before, after) == (
        "version 2 was deployed, stop requested (graceful), restart requested, "
        "restore of savepoint sp_a requested, parallelism set to 3"
    )
    assert describe_change(after, before).endswith("start requested, parallelism set to 1")
    assert describe_change(before, before) == "secrets changed"


@pytest.fixture
def arroyo(plane: Plane, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """`arroyo token ...`, its exit code and what it prints."""

    def send(self: Client, method: str, path: str, body: Any = None, *_: Any, **__: Any) -> Any:
        answer = plane.http.request(method, f"/api/v1{path}", json=body, headers=as_bearer(self.token))
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    monkeypatch.setattr(Client, "_send", send)
    monkeypatch.setattr(verb, "now", lambda: T0)

    def call(*arguments: str) -> tuple[int, str, str]:
        parser = ArgumentParser()
        verb.add_arguments(parser)
        code = verb.run(parser.parse_args([*arguments, "--url", "http://x", "--token", TOKEN]))
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def test_the_command_line_creates_lists_and_revokes(arroyo: Any, plane: Plane) -> None:
    code, value, _ = arroyo("create", "ci", "--expires-in", "30 days")
    assert code == 0
    assert plane.http.get("/api/v1/pipelines", headers=as_bearer(value.strip())).status_code == 200

    _, table, _ = arroyo("list")
    assert table.splitlines()[1].split() == [
        "ci",
        "yes",
        "2026-01-01T00:00:00.000Z",
        "admin",
        "2026-01-31T00:00:00.000Z",
    ]

    assert arroyo("revoke", "ci")[0] == 0
    assert plane.http.get("/api/v1/pipelines", headers=as_bearer(value.strip())).status_code == 401


def test_a_name_is_asked_for(arroyo: Any) -> None:
    code, _, told = arroyo("revoke")

    assert code == 2
    assert "arroyo token revoke NAME" in told
