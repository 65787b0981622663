"""`arroyo deploy --secret`: from a file or the environment, never from the command line."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import pytest

from engine.cli.base import Client
from engine.cli.pipelines import deploy


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    bodies: list[dict[str, Any]] = []

    def send(self: Client, method: str, path: str, body: dict[str, Any], **_: Any) -> dict[str, Any]:
        bodies.append(body)
        return {"id": "pl_1", "name": "orders", "state": "Created", "version": 1, "parallelism": 1}

    monkeypatch.setattr(Client, "send", send)
    return bodies


def run(tmp_path: Path, *secrets: str) -> int:
    (tmp_path / "orders.sql").write_text("SELECT 1")
    parser = ArgumentParser()
    deploy.add_arguments(parser)
    options = [part for secret in secrets for part in ("--secret", secret)]
    arguments = [str(tmp_path / "orders.sql"), "--url", "http://nowhere", "--token", "t", "--json", *options]
    return deploy.run(parser.parse_args(arguments))


def test_secrets_come_from_files_and_from_the_environment(
    tmp_path: Path, sent: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kafka").write_text("open sesame\n")
    monkeypatch.setenv("ARROYO_SECRET_REGISTRY", "sesame-2")

    assert run(tmp_path, f"KAFKA={tmp_path}/kafka", "REGISTRY") == 0
    assert sent[0]["secrets"] == {"KAFKA": "open sesame", "REGISTRY": "sesame-2"}


def test_without_them_the_request_says_nothing(tmp_path: Path, sent: list[dict[str, Any]]) -> None:
    run(tmp_path)

    assert "secrets" not in sent[0]


def test_a_secret_without_a_value_is_refused(
    tmp_path: Path, sent: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "NOTHING") != 0

    assert "set ARROYO_SECRET_NOTHING, or write NOTHING=FILE" in capsys.readouterr().err
    assert not sent
