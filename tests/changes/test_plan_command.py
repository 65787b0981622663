"""`arroyo plan` compares a script with what a state or a savepoint is of, and touches nothing."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.checkpoints.claim import StatefulQuery
from engine.checkpoints.manifest import SavepointManifest, write_manifest
from engine.cli.main import main
from engine.compile import compile_script
from engine.udf.declared import UdfFile

SQL = """
CREATE TABLE clicks (at TIMESTAMP NOT NULL, user TEXT, n BIGINT, WATERMARK FOR at)
WITH (connector = 'single_file', path = '/clicks', format = 'json', type = 'source');
CREATE TABLE out WITH (connector = 'single_file', path = '/out', format = 'json', type = 'sink');
INSERT INTO out SELECT tumble('1 minute') AS w, user, count(*) AS c FROM clicks GROUP BY 1, 2;
"""
FILTERED = SQL.replace("FROM clicks", "FROM clicks WHERE n > 3")
UPDATING = """
CREATE TABLE clicks (user TEXT)
WITH (connector = 'single_file', path = '/clicks', format = 'json', type = 'source');
CREATE TABLE out WITH (connector = 'single_file', path = '/out', format = 'debezium_json', type = 'sink');
INSERT INTO out SELECT user, count(*) AS c FROM clicks GROUP BY user;
"""
FUNCTIONS = "from engine.udf import udf\n\n@udf\ndef half(x: int) -> int: return x // 2\n"


@pytest.fixture
def new(tmp_path: Path) -> Path:
    path = tmp_path / "new.sql"
    path.write_text(SQL + "\n-- as it was")
    return path


def keep(folder: Path, sql: str = SQL, fingerprint: str | None = None, functions: str = "") -> Path:
    """A state directory that says it is of that script."""
    udfs = (UdfFile("functions.py", functions),) if functions else ()
    text = fingerprint or compile_script(sql, udfs=udfs).fingerprint
    state = folder / "state"
    state.mkdir()
    (state / "pipeline.json").write_text(json.dumps(asdict(StatefulQuery("clicks", sql, text, 2))))
    return state


def test_a_state_that_is_kept_is_no_failure(new: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = keep(tmp_path)
    before = sorted(state.rglob("*"))

    assert main(["plan", str(new), "--state-dir", str(state)]) == 0
    assert capsys.readouterr().out.endswith("nothing changes\n")
    assert sorted(state.rglob("*")) == before


def test_refused_plan_exits_with_2_and_can_be_accepted(
    new: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = keep(tmp_path)
    new.write_text(FILTERED)
    (operator,) = compile_script(SQL).operators

    assert main(["plan", str(new), "--state-dir", str(state)]) == 2
    assert f"--keep-state {operator.id}" in capsys.readouterr().out
    assert main(["plan", str(new), "--state-dir", str(state), "--keep-state", operator.id]) == 0
    assert "STATE_KEPT" in capsys.readouterr().out
    assert main(["plan", str(new), "--state-dir", str(state), "--reset", operator.id, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["loses_nothing"] is False
    assert main(["plan", str(new), "--state-dir", str(state), "--reset", "nothing"]) == 2
    assert "state.unknown_subject" in capsys.readouterr().err


def test_a_savepoint_knows_its_script(new: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    savepoint = tmp_path / "sp_1"
    savepoint.mkdir()
    manifest = SavepointManifest(
        "sp_1",
        None,
        4,
        None,
        "l",
        (),
        2,
        compile_script(SQL).fingerprint,
        datetime(2026, 1, 1, tzinfo=UTC),
        (),
        sql=SQL,
    )
    write_manifest(savepoint, manifest)

    assert main(["plan", str(new), "--savepoint", str(savepoint), "--format=markdown"]) == 0
    assert "nothing changes" in capsys.readouterr().out


def test_a_state_without_its_script_cannot_be_compared(
    new: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "pipeline.json").write_text('{"sql": 7}')

    for name, code in (
        ("missing", "state.missing"),
        ("empty", "state.missing"),
        ("damaged", "state.unreadable"),
    ):
        assert main(["plan", str(new), "--state-dir", str(tmp_path / name)]) == 2
        assert code in capsys.readouterr().err


@pytest.mark.parametrize(
    ("sql", "fingerprint", "code"),
    [
        (SQL, "0" * 32, "state.recompiled"),
        ("SELECT nothing FROM nowhere", "0" * 32, "state.recompiled"),
        (UPDATING, "other format", "state.other_format"),
    ],
)
def test_a_script_that_gives_another_query_by_now_is_no_measure(
    sql: str, fingerprint: str, code: str, new: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if fingerprint == "other format":
        fingerprint = compile_script(sql).fingerprint.partition("+")[0] + "+1"

    assert main(["plan", str(new), "--state-dir", str(keep(tmp_path, sql, fingerprint))]) == 2
    assert code in capsys.readouterr().err


def test_the_functions_of_the_old_script_may_be_others(
    new: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sql = SQL.replace("FROM clicks", "FROM clicks WHERE half(n) > 3")
    state = keep(tmp_path, sql, functions=FUNCTIONS)
    new.write_text(sql)
    old, changed = tmp_path / "old.py", tmp_path / "new.py"
    old.write_text(FUNCTIONS)
    changed.write_text(FUNCTIONS.replace("// 2", "// 3"))
    command = ["plan", str(new), "--state-dir", str(state)]

    assert main([*command, "--udf", str(old)]) == 0
    assert main([*command, "--udf", str(changed)]) == 2
    assert "state.recompiled" in capsys.readouterr().err
    assert main([*command, "--udf", str(changed), "--old-udf", str(old)]) == 2
    assert "the code of half has changed" in capsys.readouterr().out


def test_a_new_script_that_is_no_script_is_refused(
    new: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new.write_text("SELECT FROM")

    assert main(["plan", str(new), "--state-dir", str(keep(tmp_path))]) == 2
    assert "sql." in capsys.readouterr().err
