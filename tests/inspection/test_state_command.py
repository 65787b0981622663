"""`arroyo state` shows a state as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.cli import main
from tests.inspection.conftest import Kept


def run(*arguments: object) -> int:
    return main(["state", *map(str, arguments)])


def test_a_state_is_shown(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "--state-dir", kept("windows")) == 0

    text = capsys.readouterr().out
    assert "epoch        3 is committed" in text
    assert "version      unknown (only a control plane" in text
    assert "session-92273c29  sessionWindowStateStoreSaveExec  10" in text


def test_a_savepoint_is_named_by_its_id_or_its_directory(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    state = kept("windows")

    assert run("show", "--state-dir", state, "--savepoint", "kept", "--format", "json") == 0
    by_id = json.loads(capsys.readouterr().out)
    assert run("show", "--savepoint", state / "savepoints" / "kept", "--json") == 0

    assert json.loads(capsys.readouterr().out) == by_id
    assert by_id["epoch"] == 1


def test_epochs_and_savepoints_are_listed(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    state = kept("windows")
    next((state / "checkpoint/state/1/0").glob("4_*.changelog")).unlink()

    assert run("ls", state) == 0

    lines = capsys.readouterr().out.splitlines()
    assert next(line for line in lines if line.startswith("2 ")).endswith("yes")
    assert next(line for line in lines if line.startswith("3 ")).endswith("no: state/1/0 has no version 4 any more")
    assert next(line for line in lines if line.startswith("4 ")).endswith("no: it is not committed")
    assert any(line.startswith("kept  ") for line in lines)


def test_all_states_below_a_directory_are_listed(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    root = kept("windows").parent
    kept("open_files")

    assert run("ls", root, "--json") == 0

    assert [listing["name"] for listing in json.loads(capsys.readouterr().out)] == ["open_files", "windows"]


def test_who_names_no_state_is_told_how(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show") == 2
    assert "--state-dir" in capsys.readouterr().err
    assert run("ls") == 2
    assert run("ls", tmp_path) == 2
    assert "there is no state" in capsys.readouterr().err
    assert run("show", "--pipeline", "p", "--state-dir", tmp_path) == 2
