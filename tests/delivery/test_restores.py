"""A restore takes back what came later, wherever it has been written."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import EngineError
from tests.delivery.pipeline import EPOCHS, expected, restore, run, written


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


def test_a_ledger_stays_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.delivery.file_ledger.KEPT_ENTRIES", 2)
    monkeypatch.setattr("engine.delivery.manifests.KEPT_ENTRIES", 2)
    run("parquet", tmp_path)
    restore(tmp_path, 1)

    with pytest.raises(EngineError) as refused:
        run("parquet", tmp_path, lineage="two", generation=2, parents=(("one", 1),))

    assert refused.value.code == "delivery.rewind_too_far"
    assert written("parquet", tmp_path) == expected(EPOCHS)
