"""What is in a state is read from its files, while nothing is changed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from engine.checkpoints.layout import StatePaths
from engine.errors import NoStateError, UnreadableStateError
from engine.inspection.retry_reads import read_again
from engine.inspection.summary import StateSummary, summarize_savepoint, summarize_state, summary_to_json
from tests.inspection.conftest import Kept
from tests.kept.cases import CASES

ROWS = {"windows": [2, 11, 10], "updating_joins": [48, 67, 8]}
"""The first as Spark counts them, the second as its buckets have them."""


def contents(folder: Path) -> dict[Path, tuple[int, bytes]]:
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("case", CASES)
def test_the_summary_of_a_state_of_an_earlier_version_is_complete(kept: Kept, case: str, tmp_path: Path) -> None:
    state = kept(case)
    before = contents(state)

    summary = summarize_state(state, udfs=CASES[case].spec(case, tmp_path).udfs)

    assert (summary.epoch, summary.name, set(summary.unknown)) == (3, case, {"version"} | _without_watermark(summary))
    assert [operator.unknown for operator in summary.operators] == [{}] * len(summary.operators)
    assert [sink.unknown for sink in summary.sinks] == [{}] * len(summary.sinks)
    assert all(sink.epoch == 3 for sink in summary.sinks)
    assert contents(state) == before


def _without_watermark(summary: StateSummary) -> set[str]:
    """Queries without windows promise nothing."""
    return {"watermark"} if summary.watermark is None else set()


@pytest.mark.parametrize("case", ROWS)
def test_rows_are_counted_by_operator_and_partition(kept: Kept, case: str) -> None:
    summary = summarize_state(kept(case))

    assert [operator.rows for operator in summary.operators] == ROWS[case]
    assert [[part.rows for part in operator.partitions] for operator in summary.operators] == [[n] for n in ROWS[case]]
    assert all(operator.bytes and operator.skew == 1.0 for operator in summary.operators)


def test_a_planned_epoch_is_begun(kept: Kept) -> None:
    summary = summarize_state(kept("windows"))

    assert (summary.epoch, summary.begun) == (3, 4)
    assert [(source.table, source.positions) for source in summary.sources] == [("impulse", {"0": {"byte": 6086}})] * 3


def test_operators_have_our_ids_and_kinds(kept: Kept) -> None:
    operators = summarize_state(kept("windows")).operators

    assert [(operator.number, operator.kind) for operator in operators] == [(0, "tumble"), (1, "hop"), (2, "session")]
    assert all(operator.id is not None and operator.id.startswith(f"{operator.kind}-") for operator in operators)


def test_facts_missing_in_the_script_are_unknown_with_a_reason(kept: Kept) -> None:
    state = kept("windows")
    written = json.loads((state / "pipeline.json").read_text())
    (state / "pipeline.json").write_text(json.dumps({**written, "sql": "SELECT 1"}))

    summary = summarize_state(state)

    assert [(operator.id, operator.rows) for operator in summary.operators] == [(None, 2), (None, 11), (None, 10)]
    assert "is refused by now" in summary.operators[0].unknown["id"]


def test_much_state_is_counted_only_when_asked(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.inspection.summary.COUNTED_BYTES", 100)
    state = kept("windows")

    assert [operator.rows for operator in summarize_state(state).operators] == [None] * 3
    assert "unasked" in summarize_state(state).operators[0].unknown["rows"]
    assert [operator.rows for operator in summarize_state(state, counts_all=True).operators] == ROWS["windows"]


def test_rows_of_a_damaged_partition_are_unknown(kept: Kept) -> None:
    state = kept("windows")
    changelog = next((state / "checkpoint/state/0/0").glob("4_*.changelog"))
    changelog.write_bytes(changelog.read_bytes()[:-7])

    operator = summarize_state(state).operators[0]

    assert (operator.rows, operator.unknown["rows"]) == (None, "a file of it ends too early")


def test_a_savepoint_is_read_like_a_state(kept: Kept) -> None:
    summary = summarize_savepoint(kept("windows") / "savepoints" / "kept")

    assert (summary.epoch, summary.begun, summary.version) == (1, 2, None)
    assert [operator.kind for operator in summary.operators] == ["tumble", "hop", "session"]
    assert "savepoint" in summary.sinks[0].unknown["epoch"]


def test_a_directory_without_state_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoStateError):
        summarize_state(tmp_path)


def test_a_state_that_has_committed_nothing_says_so(kept: Kept) -> None:
    state = kept("windows")
    shutil.rmtree(state / "checkpoint")

    summary = summarize_state(state)

    assert (summary.epoch, summary.operators, summary.sources) == (None, (), ())
    assert summary.unknown["watermark"] == "no epoch is committed"


def test_json_has_every_figure(kept: Kept) -> None:
    shown = json.loads(json.dumps(summary_to_json(summarize_state(kept("windows")))))

    assert shown["operators"][0]["skew"] == 1.0
    assert shown["parents"] == []


def test_a_file_that_vanishes_is_read_again(kept: Kept) -> None:
    paths, attempts = StatePaths(kept("windows")), iter([True, True, False])

    def read() -> str:
        if next(attempts):
            raise FileNotFoundError(2, "gone", "offsets/3")
        return "read"

    assert read_again(paths, read) == "read"


def test_a_state_that_is_swapped_meanwhile_is_read_again(kept: Kept) -> None:
    paths, lineages = StatePaths(kept("windows")), iter(["a", "b", "b"])

    def read() -> str:
        lineage = next(lineages)
        paths.lineage.write_text(json.dumps({"lineage": lineage, "parents": []}))
        return lineage

    assert read_again(paths, read) == "b"


def test_a_file_that_stays_away_is_named(kept: Kept) -> None:
    def read() -> None:
        raise FileNotFoundError(2, "gone", "offsets/3")

    with pytest.raises(UnreadableStateError, match="offsets/3 is missing"):
        read_again(StatePaths(kept("windows")), read)
