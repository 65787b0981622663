"""No sink writes over what its own pipeline has not written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.connectors import sink_kind_of
from engine.connectors.base import Sink, SinkContext
from engine.delivery.ownership import MARK, Finding, MarkFile, Owner, check, take_possession
from engine.errors import ForeignTargetError
from tests.connectors.tables import NUMBERS, batch, epoch, table, take

A, B = Owner("pl_a", "a"), Owner("pl_b", "b")
FREE = Finding("x", has_ledger=False, would_lose=False)
HELD = Finding("x", has_ledger=True, would_lose=True)
LOSES = Finding("x", has_ledger=False, would_lose=True)
ADDS = Finding("x", has_ledger=True, would_lose=False)
HEIR = Owner("pl_b", "b", predecessors=("pl_a",))
KINDS = ["single_file", "filesystem", "delta"]


@pytest.mark.parametrize(
    ("marked", "owner", "finding", "takes_over", "is_allowed"),
    [
        (B, B, LOSES, False, True),
        (B, B, HELD, False, True),
        (None, B, FREE, False, True),
        (None, B, HELD, False, True),
        (None, B, LOSES, False, False),
        (None, B, LOSES, True, True),
        (A, B, FREE, False, False),
        (A, B, FREE, True, True),
        (A, B, ADDS, True, True),
        (A, B, LOSES, True, True),
        (A, B, HELD, True, False),
        (A, HEIR, FREE, False, True),
        (A, HEIR, LOSES, False, False),
        (A, HEIR, LOSES, True, True),
    ],
)
def test_a_target_is_taken_only_by_its_owner_or_on_purpose(
    marked: Owner | None, owner: Owner, finding: Finding, takes_over: bool, is_allowed: bool
) -> None:
    if is_allowed:
        check(marked, owner, finding, takes_over=takes_over)
        return
    with pytest.raises(ForeignTargetError) as refused:
        check(marked, owner, finding, takes_over=takes_over)
    assert refused.value.code == "delivery.foreign_target"


def opened(root: Path, kind: str, owner: Owner, **options: Any) -> Sink:
    """The sink of a pipeline whose state is in a directory of its own, and whose output is in `root`."""
    given = {"path": root / "out", "type": "sink"} | ({} if kind == "delta" else {"format": "json"}) | options
    directory = root / owner.id / "sinks" / "t"
    directory.mkdir(parents=True, exist_ok=True)
    written = table(kind, NUMBERS, **given)
    return sink_kind_of(written).open(written, SinkContext(directory, owner.name, owner))


def write(sink: Sink, number: int, *values: int, lineage: str = "one", generation: int = 1) -> None:
    take(sink, epoch(number, lineage, generation), [batch(NUMBERS, *((value, "x") for value in values))])


def output(root: Path) -> dict[str, bytes]:
    """What can be read of the target."""
    out = root / "out"
    files = [out] if out.is_file() else sorted(path for path in out.rglob("*") if path.is_file())
    return {path.name: path.read_bytes() for path in files}


@pytest.mark.parametrize("kind", KINDS)
def test_a_second_writer_stops_and_the_first_goes_on(kind: str, tmp_path: Path) -> None:
    first = opened(tmp_path, kind, A)
    write(first, 0, 1)
    before = output(tmp_path)

    with pytest.raises(ForeignTargetError, match=r"belongs to pipeline 'a' \(pl_a\)") as refused:
        write(opened(tmp_path, kind, B), 0, 2, lineage="two")

    assert "'sink.existing' = 'take_over'" in str(refused.value.hint)
    assert output(tmp_path) == before
    write(first, 1, 3)
    assert len(output(tmp_path)) >= len(before)


@pytest.mark.parametrize("kind", KINDS)
def test_a_target_is_taken_over_on_purpose(kind: str, tmp_path: Path) -> None:
    write(opened(tmp_path, kind, A), 0, 1)

    write(opened(tmp_path, kind, B, sink__existing="take_over"), 0, 2, lineage="two")

    rows = b"".join(output(tmp_path).values())
    if kind == "single_file":
        assert rows.splitlines() == [b'{"n":2,"name":"x"}']
        with pytest.raises(ForeignTargetError):
            write(opened(tmp_path, kind, A), 1, 3)
        assert b"".join(output(tmp_path).values()) == rows


def test_a_file_that_was_there_before_is_not_emptied(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("by hand\n")

    with pytest.raises(ForeignTargetError, match="holds rows that this pipeline has not written"):
        write(opened(tmp_path, "single_file", A), 0, 1)

    assert (tmp_path / "out").read_text() == "by hand\n"


@pytest.mark.parametrize("kind", ["filesystem", "delta"])
def test_files_that_were_there_before_stay_beside_those_that_are_added(kind: str, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old.txt").write_text("by hand\n")

    write(opened(tmp_path, kind, A), 0, 1)

    assert output(tmp_path)["old.txt"] == b"by hand\n"


def test_an_empty_file_may_be_written(tmp_path: Path) -> None:
    (tmp_path / "out").touch()

    write(opened(tmp_path, "single_file", A), 0, 1)

    assert output(tmp_path) == {"out": b'{"n":1,"name":"x"}\n'}


@pytest.mark.parametrize("kind", KINDS)
def test_the_owner_goes_on_after_its_state_was_given_up(kind: str, tmp_path: Path) -> None:
    write(opened(tmp_path, kind, A), 0, 1)
    (tmp_path / A.id).rename(tmp_path / "replaced")

    write(opened(tmp_path, kind, A), 0, 2, lineage="two")

    assert b"".join(output(tmp_path).values())


@pytest.mark.parametrize("kind", KINDS)
def test_a_target_from_before_there_were_marks_is_adopted(kind: str, tmp_path: Path) -> None:
    write(opened(tmp_path, kind, A), 0, 1)
    next(tmp_path.rglob(f"*{MARK}")).unlink()

    write(opened(tmp_path, kind, A), 1, 2, generation=2)

    with pytest.raises(ForeignTargetError):
        write(opened(tmp_path, kind, B), 0, 3, lineage="two")


@pytest.mark.parametrize("kind", ["filesystem", "delta"])
def test_the_heir_of_a_deleted_pipeline_adds_to_its_files(kind: str, tmp_path: Path) -> None:
    write(opened(tmp_path, kind, A), 0, 1)
    before = output(tmp_path)

    write(opened(tmp_path, kind, HEIR), 0, 2, lineage="two")

    assert {name: content for name, content in output(tmp_path).items() if name in before and name != MARK} == {
        name: content for name, content in before.items() if name != MARK
    }


def test_a_run_whose_state_is_thrown_away_leaves_no_mark(tmp_path: Path) -> None:
    write(opened(tmp_path, "filesystem", Owner("x", "x", is_passing=True)), 0, 1)
    write(opened(tmp_path, "filesystem", Owner("y", "y", is_passing=True)), 0, 2, lineage="two")

    assert not list(tmp_path.rglob(f"*{MARK}"))


def test_one_of_two_claimants_without_a_marker_becomes_the_owner(tmp_path: Path) -> None:
    mark = MarkFile(tmp_path / MARK)

    def look() -> Finding:
        if mark.read() is None:
            take_possession(mark, A, lambda: FREE, takes_over=False)
        return FREE

    with pytest.raises(ForeignTargetError):
        take_possession(mark, B, look, takes_over=False)


def test_a_mark_that_makes_no_sense_is_nobodys_own(tmp_path: Path) -> None:
    (tmp_path / MARK).write_text("?")

    with pytest.raises(ForeignTargetError):
        take_possession(MarkFile(tmp_path / MARK), A, lambda: FREE, takes_over=False)
