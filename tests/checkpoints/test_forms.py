"""Which form the state of an operator had goes on with it, under the new numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.changes.verdict import Reform
from engine.checkpoints import manifest
from engine.checkpoints.forms import carried_forms, read_forms, tell_later, untold, write_forms
from engine.errors import UnreadableStateError
from engine.plan.nodes import Retelling
from engine.plan.state.forms import Form

TOLD = Retelling("41:one:other", "(c1 > 3)", 42)


def test_they_are_read_as_they_were_written_and_none_is_no_file(tmp_path: Path) -> None:
    write_forms(tmp_path, {})
    assert [*tmp_path.iterdir()] == []
    assert read_forms(tmp_path) == {}

    forms = {2: Form(("a", "b")), 3: Form(()), 4: Form(("a",), {"c": ("b", "a")})}
    forms |= {5: Form(None, retelling=TOLD), 6: Form(("a",), retelling=TOLD)}
    write_forms(tmp_path, forms)

    assert read_forms(tmp_path) == forms


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"1": 2}',
        '{"a": []}',
        '{"1": [2]}',
        '{"1": {"began_as": [], "formerly": {"a": "b"}}}',
        '{"1": {"began_as": null, "formerly": {}, "retelling": ["a", "true", "2"]}}',
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "forms.json").write_text(text)

    with pytest.raises(UnreadableStateError, match="forms"):
        read_forms(tmp_path)


def test_original_form_of_a_state_changed_twice_is_recorded() -> None:
    old = {0: Form(("a",)), 1: Form(("b",))}
    reformed = {6: Reform(1, (0, None), ("b", "c")), 7: Reform(2, (None,), ("d",))}

    assert carried_forms(old, {5: 0, 8: 9}, reformed) == {5: Form(("a",)), 6: Form(("b",)), 7: Form(("d",))}


def test_both_steps_of_numbers_widened_twice_are_recorded() -> None:
    once = carried_forms({}, {}, {1: Reform(0, (0, 1), ("a", "x"), {"b": "a"})})
    twice = carried_forms(once, {}, {2: Reform(1, (0, 1), ("b", "x"), {"c": "b"})})

    assert once == {1: Form(("a", "x"), {"b": ("a",)})}
    assert (twice[2].began_as, twice[2].formerly["c"]) == (("a", "x"), ("b", "a"))


def test_they_belong_to_every_epoch_of_the_checkpoint(tmp_path: Path) -> None:
    write_forms(tmp_path, {2: Form(("a",))})

    assert Path("forms.json") in manifest.files_of(tmp_path, 0)


def test_emitted_form_is_not_emitted_again_after_the_next_change() -> None:
    old = {0: Form(None, retelling=TOLD), 1: Form(("a",), retelling=TOLD)}

    assert carried_forms(old, {0: 0, 1: 1}, {}) == {1: Form(("a",))}
    assert carried_forms(old, {3: 0}, {}, {3: TOLD}) == {3: Form(None, retelling=TOLD)}
    assert carried_forms(old, {}, {2: Reform(0, (0, None), ("b",))}) == {2: Form(("b",))}


def test_form_emitted_in_an_epoch_is_pending_until_its_commit(tmp_path: Path) -> None:
    forms = {0: Form(None, retelling=TOLD), 1: Form(("a",))}
    write_forms(tmp_path, forms)

    assert untold(forms, 41) == {0: TOLD}
    assert untold(forms, 42) == {}
    # a rescale takes the number 42
    tell_later(tmp_path, 41)
    assert untold(read_forms(tmp_path), 42).keys() == {0}
    tell_later(tmp_path, 43)
    assert untold(read_forms(tmp_path), 43) == {}
