from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engine.delivery.file_ledger import newest_ledger
from engine.errors import EngineError
from tests.delivery.pipeline import EPOCHS, expected, restore, run, written

FILE_POINTS = ["before_write", "while_writing", "after_write", "after_ledger"]
DIRECTORY_POINTS = [
    "before_write",
    "before_decision",
    "after_decision",
    "while_publishing",
    "after_write",
    "after_ledger",
]
CRASHES = [("single_file", point) for point in FILE_POINTS] + [("parquet", point) for point in DIRECTORY_POINTS]
CRASHES += [("gzip", "while_writing"), ("json", "while_publishing")]
CRASHES += [("delta", point) for point in ("after_decision", "while_publishing", "after_write")]
CRASHES += [("rolling-json", point) for point in ("after_decision", "while_publishing", "after_ledger")]


def killed_at(point: str, kind: str, root: Path) -> None:
    environment = os.environ | {"ARROYO_FAULT": point, "ARROYO_FAULTS_ALLOWED": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.delivery.pipeline", kind, str(root)], env=environment, timeout=600, check=False
    )
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize(("kind", "point"), CRASHES)
@pytest.mark.parametrize("number", [0, 3])
def test_a_crash_loses_and_doubles_nothing(kind: str, point: str, number: int, tmp_path: Path) -> None:
    run(kind, tmp_path, until=number)
    killed_at(f"{point}:{number}", kind, tmp_path)

    run(kind, tmp_path)

    assert written(kind, tmp_path) == expected(EPOCHS)


def test_faults_strike_only_where_they_are_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARROYO_FAULT", "before_write")
    monkeypatch.delenv("ARROYO_FAULTS_ALLOWED", raising=False)

    run("single_file", tmp_path, until=1)

    assert written("single_file", tmp_path) == expected(1)


@pytest.mark.parametrize("kind", ["single_file", "gzip", "json", "parquet", "rolling-parquet", "delta"])
@pytest.mark.parametrize("restored", [0, 2, 5])
def test_a_restore_takes_back_what_came_later(kind: str, restored: int, tmp_path: Path) -> None:
    run(kind, tmp_path)
    restore(tmp_path, restored)

    run(kind, tmp_path, lineage="two", generation=2, parents=(("one", restored),))

    assert written(kind, tmp_path) == expected(EPOCHS)


@pytest.mark.parametrize("kind", ["single_file", "parquet", "rolling-json", "delta"])
def test_a_restore_behind_another_restore_takes_back_both(kind: str, tmp_path: Path) -> None:
    run(kind, tmp_path)
    restore(tmp_path, 3)
    run(kind, tmp_path, until=5, lineage="two", generation=2, parents=(("one", 3),))
    restore(tmp_path, 1)

    run(kind, tmp_path, until=4, lineage="three", generation=3, parents=(("one", 1),))

    assert written(kind, tmp_path) == expected(4)


@pytest.mark.parametrize("kind", ["single_file", "parquet"])
def test_a_crash_while_going_back_is_repaired(kind: str, tmp_path: Path) -> None:
    run(kind, tmp_path)
    restore(tmp_path, 1)
    if kind == "single_file":
        with (tmp_path / "out.json").open("ab") as file:
            file.write(b'{"n": 1, "na')
    else:
        next((tmp_path / "out").rglob("0000000004-*.parquet")).unlink()

    run(kind, tmp_path, lineage="two", generation=2, parents=(("one", 1),))

    assert written(kind, tmp_path) == expected(EPOCHS)


def test_a_run_that_was_replaced_writes_nothing(tmp_path: Path) -> None:
    run("single_file", tmp_path, until=2)
    (tmp_path / "state" / "generation").write_text("2\n")

    with pytest.raises(EngineError) as refused:
        run("single_file", tmp_path)

    assert refused.value.code == "delivery.superseded"
    assert written("single_file", tmp_path) == expected(2)


def test_a_first_run_writes_over_an_old_file(tmp_path: Path) -> None:
    (tmp_path / "out.json").write_text("something old\n")

    run("single_file", tmp_path, until=1)

    assert written("single_file", tmp_path) == expected(1)


@pytest.mark.parametrize(
    ("damage", "code"),
    [("ledger gone", "delivery.ledger_lost"), ("ledger unreadable", "delivery.ledger_lost"),
     ("file shortened", "delivery.output_changed"), ("checkpoint rolled back", "delivery.ledger_ahead")],
)  # fmt: skip
def test_damage_is_named_and_nothing_is_written(damage: str, code: str, tmp_path: Path) -> None:
    run("single_file", tmp_path, until=3)
    ledger = newest_ledger(tmp_path / "state" / "sinks" / "t")
    assert ledger is not None
    match damage:
        case "ledger gone":
            ledger.unlink()
        case "ledger unreadable":
            ledger.write_text("[{")
        case "file shortened":
            (tmp_path / "out.json").write_text("")
        case _:
            restore(tmp_path, 0)
    before = (tmp_path / "out.json").read_bytes()

    with pytest.raises(EngineError) as refused:
        run("single_file", tmp_path)

    assert refused.value.code == code
    assert refused.value.hint
    assert (tmp_path / "out.json").read_bytes() == before


def test_a_published_file_that_somebody_else_wrote_is_left_alone(tmp_path: Path) -> None:
    run("json", tmp_path, until=1)
    stolen = next((tmp_path / "out").rglob("*.json"))
    target = stolen.with_name(stolen.name.replace("0000000000", "0000000001"))
    target.write_text("mine\n")

    with pytest.raises(EngineError) as refused:
        run("json", tmp_path, until=2)

    assert refused.value.code == "delivery.output_changed"
    assert target.read_text() == "mine\n"


def test_a_ledger_stays_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.delivery.file_ledger.KEPT_ENTRIES", 2)
    monkeypatch.setattr("engine.delivery.manifests.KEPT_ENTRIES", 2)
    run("parquet", tmp_path)
    restore(tmp_path, 1)

    with pytest.raises(EngineError) as refused:
        run("parquet", tmp_path, lineage="two", generation=2, parents=(("one", 1),))

    assert refused.value.code == "delivery.rewind_too_far"
    assert written("parquet", tmp_path) == expected(EPOCHS)
