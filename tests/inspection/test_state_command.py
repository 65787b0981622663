"""`arroyo state` shows a state as text and as JSON."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest

from engine.cli.main import main
from engine.jobs.disk import DataDirectory
from tests.api.stand_in_server import StandInServer
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
    assert next(line for line in lines if line.startswith("3 ")).endswith("no: state/1/0 no longer has version 4")
    assert next(line for line in lines if line.startswith("4 ")).endswith("no: it is not committed")
    assert any(line.startswith("kept  ") for line in lines)


def test_all_states_below_a_directory_are_listed(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    root = kept("windows").parent
    kept("open_files")

    assert run("ls", root, "--json") == 0

    assert [listing["name"] for listing in json.loads(capsys.readouterr().out)] == ["open_files", "windows"]


@pytest.mark.parametrize("verb", ["verify", "doctor"])
def test_a_sound_state_is_whole(kept: Kept, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    state = kept("updating_joins")

    assert run(verb, "--state-dir", state, "--rows") == 0
    assert run(verb, state / "savepoints" / "kept") == 0
    assert run(verb, "--state-dir", state, "--savepoint", "kept", "--rows") == 0

    assert capsys.readouterr().out.splitlines() == [
        f"{state} is whole",
        f"{state}/savepoints/kept is whole",
        f"{state}/savepoints/kept is whole",
    ]


def test_damage_is_named_and_explained(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    state = kept("windows")
    plan = state / "checkpoint/offsets/3"
    plan.unlink()

    assert run("verify", "--state-dir", state) == 2
    assert capsys.readouterr().out == f"damage.plan_lost: {plan} is missing, though its epoch is committed\n"

    assert run("doctor", "--state-dir", state) == 2
    text = capsys.readouterr().out
    assert "it means: the newest committed epoch has no plan" in text
    assert "way out: restore a savepoint" in text
    assert text.endswith("savepoint kept of epoch 1 is whole: arroyo restore PIPELINE kept --allow-replay\n")


def test_a_savepoint_that_is_damaged_too_is_no_way_out(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    state = kept("windows")
    (state / "checkpoint/metadata").unlink()
    (state / "savepoints/kept/checkpoint/metadata").write_text("{}")

    assert run("doctor", "--state-dir", state, "--json") == 2
    shown = json.loads(capsys.readouterr().out)
    assert (shown["is_whole"], shown["savepoint"]) == (False, None)
    assert [damage["code"] for damage in shown["damages"]] == ["damage.identity"]

    assert run("doctor", "--state-dir", state) == 2
    assert "no savepoint here is whole" in capsys.readouterr().out


def test_rows_that_cannot_be_read_are_found_behind_right_sums(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    state = kept("windows")
    changelog = next((state / "checkpoint/state/0/0").glob("4_*.changelog"))
    content = changelog.read_bytes()[:-9]
    changelog.write_bytes(content)
    sums = b"crc\0" + (512).to_bytes(4, "big")
    for at in range(0, len(content), 512):
        sums += zlib.crc32(content[at : at + 512]).to_bytes(4, "big")
    changelog.with_name(f".{changelog.name}.crc").write_bytes(sums)

    assert run("verify", "--state-dir", state) == 0
    assert run("verify", "--state-dir", state, "--rows") == 2
    assert "damage.state_file" in capsys.readouterr().out


def test_verify_wants_one_state_that_exists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("verify", "--pipeline", "orders", "--state-dir", tmp_path) == 2
    assert run("verify", "--state-dir", tmp_path / "none") == 2
    assert run("verify") == 2


def test_a_missing_directory_argument_gets_a_hint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show") == 2
    assert "--state-dir" in capsys.readouterr().err
    assert run("ls") == 2
    assert run("ls", tmp_path) == 2
    assert "there is no state" in capsys.readouterr().err
    assert run("show", "--pipeline", "p", "--state-dir", tmp_path) == 2


@pytest.mark.parametrize(
    ("action", "expected"),
    [("ls", "kept  "), ("verify", "whole"), ("doctor", "whole")],
)
def test_the_state_of_a_pipeline_is_found_in_the_data_directory(
    action: str, expected: str, kept: Kept, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline = "pl_" + "a" * 16
    data = tmp_path / "data"
    state = DataDirectory(data).state(pipeline)
    state.parent.mkdir(parents=True)
    kept("windows").rename(state)
    server = StandInServer()
    server.answer = json.dumps({"id": pipeline, "name": "orders", "state": "Stopped"}).encode()
    try:
        code = run(action, "--pipeline", "orders", "--data-dir", data, "--url", server.url, "--token", "t")
    finally:
        server.close()

    out = capsys.readouterr().out
    assert (code, [path for _, path, _, _ in server.requests]) == (0, ["/api/v1/pipelines/orders"]), out
    assert expected in out
    assert pipeline in out
