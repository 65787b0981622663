"""State that is lost, cut, foreign or older than the sink: a named error with advice, and nothing is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from engine.delivery.file_ledger import newest_ledger
from engine.errors import EngineError
from tests.delivery.pipeline import expected, run, written


def ledger(root: Path) -> Path:
    path = newest_ledger(root / "state" / "sinks" / "t")
    assert path is not None
    return path


def change(root: Path, **entry: object) -> None:
    """Change the newest entry of the ledger."""
    entries = json.loads(ledger(root).read_bytes())
    ledger(root).write_text(json.dumps([*entries[:-1], entries[-1] | entry]))


def put_back(root: Path) -> None:
    """An older copy of the checkpoint, without a restore."""
    (root / "commits").write_text("0\n")


DAMAGES: Mapping[str, tuple[Callable[[Path], object], str]] = {
    "no ledger": (lambda root: ledger(root).unlink(), "delivery.ledger_lost"),
    "an empty ledger": (lambda root: ledger(root).write_text(""), "delivery.ledger_lost"),
    "a cut ledger": (lambda root: ledger(root).write_bytes(ledger(root).read_bytes()[:-20]), "delivery.ledger_lost"),
    "a ledger of something else": (lambda root: ledger(root).write_text('[{"x": 1}]'), "delivery.ledger_lost"),
    "a stranger's ledger": (lambda root: change(root, lineage="another"), "delivery.ledger_foreign"),
    "other offsets": (lambda root: (put_back_one(root), change(root, offsets="x")), "delivery.offsets_differ"),
    "a newer generation": (lambda root: change(root, generation=7), "delivery.superseded"),
    "an older checkpoint": (put_back, "delivery.ledger_ahead"),
}


def put_back_one(root: Path) -> None:
    """The checkpoint as it was just before its newest epoch was committed."""
    (root / "commits").write_text("0\n1\n")


@pytest.mark.parametrize("kind", ["single_file", "json", "rolling-parquet", "delta"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named_and_nothing_is_written(kind: str, damage: str, tmp_path: Path) -> None:
    run(kind, tmp_path, until=3)
    do, code = DAMAGES[damage]
    do(tmp_path)
    before = written(kind, tmp_path)

    with pytest.raises(EngineError) as refused:
        run(kind, tmp_path)

    assert refused.value.code == code
    assert refused.value.hint
    assert written(kind, tmp_path) == before


def test_a_file_that_somebody_has_shortened_is_named_and_left_alone(tmp_path: Path) -> None:
    run("single_file", tmp_path, until=3)
    (tmp_path / "out.json").write_text("")

    with pytest.raises(EngineError) as refused:
        run("single_file", tmp_path)

    assert refused.value.code == "delivery.output_changed"
    assert refused.value.hint
    assert (tmp_path / "out.json").read_bytes() == b""


def test_a_published_file_that_somebody_else_wrote_is_left_alone(tmp_path: Path) -> None:
    run("json", tmp_path, until=1)
    stolen = next((tmp_path / "out").rglob("*.json"))
    target = stolen.with_name(stolen.name.replace("0000000000", "0000000001"))
    target.write_text("mine\n")

    with pytest.raises(EngineError) as refused:
        run("json", tmp_path, until=2)

    assert refused.value.code == "delivery.output_changed"
    assert target.read_text() == "mine\n"


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


def test_faults_strike_only_where_they_are_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARROYO_FAULT", "before_write")
    monkeypatch.delenv("ARROYO_FAULTS_ALLOWED", raising=False)

    run("single_file", tmp_path, until=1)

    assert written("single_file", tmp_path) == expected(1)
