"""State that is lost, cut, foreign or older than the sink: a named error with advice, and nothing is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from engine.delivery.file_ledger import newest_ledger
from engine.errors import EngineError
from tests.delivery.pipeline import run, written


def ledger(root: Path) -> Path:
    found = newest_ledger(root / "state" / "sinks" / "t")
    assert found is not None
    return found


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
