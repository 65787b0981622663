"""The hidden columns are declared in one place."""

import ast
from pathlib import Path

import pytest

from engine.plan import tree
from engine.plan.tree import HIDDEN, hidden_in, is_hidden

ENGINE = Path(tree.__file__).parents[1]


@pytest.mark.parametrize("path", sorted(ENGINE.rglob("*.py")), ids=lambda path: str(path.relative_to(ENGINE)))
def test_no_other_module_spells_a_hidden_column(path: Path) -> None:
    if path == Path(tree.__file__):
        return
    constants = [node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)]
    assert not set(HIDDEN).intersection(constant for constant in constants if isinstance(constant, str))


def test_hidden_columns_come_in_their_declared_order() -> None:
    assert hidden_in(["_id", "n", "_timestamp"], []) == ["_timestamp", "_id"]
    assert hidden_in(["_id", "n", "_timestamp"], ["n", "_id"]) == ["_timestamp"]


def test_the_names_that_are_written_to_state_stay() -> None:
    assert HIDDEN == ("_timestamp", "_wm", "_retract", "_id", "_heartbeat")
    assert all(map(is_hidden, HIDDEN))
    assert not is_hidden("id")
