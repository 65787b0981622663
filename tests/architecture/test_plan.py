"""Every kind of relation can be explained and lowered, and every rewrite is named as its module is."""

import ast
import inspect
from pathlib import Path

import pytest

from engine.plan import column_lineage, explain, nodes, rules
from engine.plan.placement import reads
from engine.plan.tree import Node

ROOT = Path(__file__).parents[2]
NODES = sorted(
    name for name, kind in vars(nodes).items() if isinstance(kind, type) and issubclass(kind, Node) and kind is not Node
)

MADE_AFTER_THE_RULES = {"Branch", "Fused", "Partials", "Write"}
"""What only splitting and fusing make, and the root, which the rule takes apart itself."""


def cases_of(source: str, function: str) -> set[str]:
    """The classes that the `match` statements of a function know."""
    tree = ast.parse(source)
    definition = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == function)
    return {
        pattern.cls.id
        for pattern in ast.walk(definition)
        if isinstance(pattern, ast.MatchClass) and isinstance(pattern.cls, ast.Name)
    }


def test_there_are_relations() -> None:
    assert len(NODES) >= 6


@pytest.mark.parametrize("name", NODES)
def test_every_relation_has_a_line_in_explain(name: str) -> None:
    assert name in cases_of(inspect.getsource(explain), "describe")


@pytest.mark.parametrize("name", NODES)
def test_every_relation_has_a_lowering(name: str) -> None:
    assert name in cases_of((ROOT / "engine" / "spark" / "lower" / "__init__.py").read_text(), "lower")


@pytest.mark.parametrize("name", NODES)
def test_every_relation_declares_what_it_reads(name: str) -> None:
    assert name in cases_of(inspect.getsource(reads), "read_by")


@pytest.mark.parametrize("name", sorted({*NODES} - MADE_AFTER_THE_RULES))
def test_every_relation_declares_where_its_columns_come_from(name: str) -> None:
    assert name in cases_of(inspect.getsource(column_lineage), "_read")


@pytest.mark.parametrize("name", sorted({*NODES} - MADE_AFTER_THE_RULES))
def test_columns_that_nobody_reads_are_looked_for_below_every_relation(name: str) -> None:
    assert name in cases_of((ROOT / "engine" / "plan" / "rules" / "drop_unused_columns.py").read_text(), "_cut")


@pytest.mark.parametrize("name", NODES)
def test_every_relation_says_what_holds_of_it(name: str) -> None:
    assert (getattr(nodes, name).__doc__ or "").strip()


def test_a_rewrite_is_called_as_its_module_and_all_are_in_the_list() -> None:
    folder = ROOT / "engine" / "plan" / "rules"

    assert [rule.__name__ for rule in rules.RULES] == [rule.__module__.rsplit(".", 1)[-1] for rule in rules.RULES]
    assert {rule.__name__ for rule in rules.RULES} == {path.stem for path in folder.glob("*.py")} - {"__init__"}


def test_families_of_relations_are_lowered_under_the_same_name() -> None:
    planned = {path.stem for path in (ROOT / "engine" / "plan" / "nodes").glob("*.py")}
    lowered = {path.stem for path in (ROOT / "engine" / "spark" / "lower").glob("*.py")}

    assert planned - lowered == set()
