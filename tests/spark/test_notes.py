"""Notes of readers that are missing are an error, where each slice must have left one; without Spark."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from engine.compile import compile_script
from engine.errors import MissingNoteError
from engine.spark.read import notes
from engine.spark.read.planner import Offset, Planner, PlanSpec
from engine.spark.read.scan_spec import format_name
from engine.spark.read.watermarks import Activity
from engine.spark.run.reports import Reporter
from tests.spark.test_planner import FakeSource

SQL = """
CREATE TABLE clicks (n BIGINT)
WITH (connector = 'single_file', path = '/clicks.json', format = 'json', type = 'source');
CREATE TABLE nowhere WITH (connector = 'blackhole');
INSERT INTO nowhere SELECT n FROM clicks;
"""
END = Offset("clicks", {"a": 9, "b": 4}, {}, moved={"a": 2, "b": 1})


def leave(folder: Path, slices: Iterable[tuple[str, int, int]]) -> None:
    for partition, index, count in slices:
        end = END.positions[partition]
        notes.leave(folder, partition, index, notes.ReaderNote(end, 7, 0, rows=3, slices=count))


def reporter(folder: Path, *, is_one_jvm: bool) -> Reporter:
    return Reporter(compile_script(SQL), folder, "L1", is_one_jvm=is_one_jvm)


ALL = [("a", 0, 2), ("a", 1, 2), ("b", 0, 1)]


def test_an_epoch_whose_slices_have_all_left_notes_is_counted(tmp_path: Path) -> None:
    leave(tmp_path / format_name("clicks"), ALL)

    assert reporter(tmp_path, is_one_jvm=False).count([END], [END])["clicks"].rows == 9


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_an_epoch_with_a_lost_note_is_not_committed(tmp_path: Path, lost: int) -> None:
    leave(tmp_path / format_name("clicks"), [*ALL[:lost], *ALL[lost + 1 :]])

    for is_one_jvm in (True, False):
        with pytest.raises(MissingNoteError, match=f"clicks: .* partition {ALL[lost][0]} left no note in {tmp_path}"):
            reporter(tmp_path, is_one_jvm=is_one_jvm).count([END], [END])


def test_a_table_without_any_note_is_an_error_on_a_cluster_and_may_be_unread_in_one_jvm(tmp_path: Path) -> None:
    assert reporter(tmp_path, is_one_jvm=True).count([END], [END])["clicks"].rows == 0
    with pytest.raises(MissingNoteError):
        reporter(tmp_path, is_one_jvm=False).count([END], [END])


def test_notes_of_an_earlier_epoch_are_not_asked_for(tmp_path: Path) -> None:
    assert reporter(tmp_path, is_one_jvm=False).count([END], [])["clicks"].rows == 0


def test_fewer_slices_than_were_planned_are_whole(tmp_path: Path) -> None:
    leave(tmp_path / format_name("clicks"), [("a", 0, 1), ("b", 0, 1)])

    assert reporter(tmp_path, is_one_jvm=False).count([END], [END])["clicks"].rows == 6


def test_notes_of_earlier_versions_say_nothing_of_how_many_there_are(tmp_path: Path) -> None:
    for partition, end in END.positions.items():
        notes.leave(tmp_path / format_name("clicks"), partition, 0, notes.ReaderNote(end, 7, 0, rows=3))

    assert reporter(tmp_path, is_one_jvm=False).count([END], [END])["clicks"].rows == 6


def test_the_planner_of_a_run_misses_a_note_but_not_in_its_first_answer(tmp_path: Path) -> None:
    source = FakeSource({"a": 10})
    spec = PlanSpec("t", tmp_path, checks_notes=True, may_be_unread=False)
    plan = Planner(spec, source, Activity(timedelta(minutes=5), {}), lambda: source.now)
    first = plan.next(replace(plan.first(), positions={"a": 5}, moved={"a": 1}, sequence=3))
    assert first.positions == {"a": 10}

    source.ends = {"a": 20}
    with pytest.raises(MissingNoteError, match="t: 1 of 1 tasks that have read the partition a left no note"):
        plan.next(first)
    notes.leave(tmp_path, "a", 0, notes.ReaderNote(10, 500, 0, rows=1, slices=1))
    assert plan.next(first).watermark == 500
