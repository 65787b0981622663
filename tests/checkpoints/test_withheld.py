"""What is withheld goes on with the state, under the new numbers and places."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.changes.verdict import Migration
from engine.checkpoints.late_batches import carried, read_withheld, write_withheld
from engine.errors import UnreadableStateError
from engine.plan.state.withheld import ROWS


def test_suppressed_aggregates_are_read_as_written(tmp_path: Path) -> None:
    withheld = {3: {0: ((0, 20), (50, 50)), 2: ((7, 7),), ROWS: ((5, 9),)}}

    write_withheld(tmp_path, withheld)

    assert read_withheld(tmp_path) == withheld
    assert '"rows"' in (tmp_path / "withheld.json").read_text()


def test_no_suppressed_aggregates_need_no_file(tmp_path: Path) -> None:
    write_withheld(tmp_path, {})

    assert [*tmp_path.iterdir()] == []
    assert read_withheld(tmp_path) == {}


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"1": 2}', '{"a": {}}', '{"1": {"0": [[1]]}}', '{"1": {"0": [["a", 2]]}}']
)
def test_a_damaged_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "withheld.json").write_text(text)

    with pytest.raises(UnreadableStateError, match="withheld"):
        read_withheld(tmp_path)


def test_kept_and_moved_aggregates_stay_suppressed_together_with_new_ones() -> None:
    old = {0: {0: ((1, 1),)}, 1: {0: ((2, 2),), 1: ((3, 3),)}, 2: {0: ((4, 4),)}}
    migration = Migration(1, (None, 1), (), (), ())

    withheld = carried(old, {5: 0, 7: 9}, {6: migration}, {6: ((8, 9),)})

    assert withheld == {5: {0: ((1, 1),)}, 6: {0: ((8, 9),), 1: ((3, 3),)}}


def test_nothing_is_suppressed_without_open_windows() -> None:
    assert carried({}, {}, {6: Migration(1, (None, 1), (), (), ())}, {6: ()}) == {}


def test_windows_that_are_held_back_stay_so_and_show_no_null() -> None:
    old = {1: {0: ((2, 2),), ROWS: ((4, 5),)}}
    held_back = Migration(1, (None, 0), (), (), (), held_back=True)

    assert carried(old, {}, {6: held_back}, {6: ((5, 9),)}) == {6: {1: ((2, 2),), ROWS: ((4, 5), (5, 9))}}
    assert carried(old, {}, {6: Migration(1, (None, 0), (), (), ())}, {6: ((5, 9),)}) == {
        6: {0: ((5, 9),), 1: ((2, 2),), ROWS: ((4, 5),)}
    }
    assert carried(old, {7: 1}, {}, {}) == {7: old[1]}
