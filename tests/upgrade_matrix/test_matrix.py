"""What becomes of each kind of state by each kind of change is what the docs say, and what plans say comes to be."""

from __future__ import annotations

import pytest

from tests.upgrade_matrix.changes import CHANGES, ScriptChange
from tests.upgrade_matrix.shapes import SHAPES
from tests.upgrade_matrix.table import cell, written


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
def test_the_plan_of_every_cell_is_what_the_docs_say(change: ScriptChange) -> None:
    page = written()

    assert {shape: cell(change, shape) for shape in SHAPES} == {shape: page[change.name, shape] for shape in SHAPES}


def test_the_docs_have_no_other_cells() -> None:
    assert written().keys() == {(change.name, shape) for change in CHANGES for shape in SHAPES}
