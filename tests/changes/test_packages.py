"""What a plan says of functions that ask for other packages, and of aggregates that say what their state is for."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from engine.changes.compare import compare
from engine.changes.verdict import Change, UpgradePlan, Verdict
from engine.control.upgrades.plan_query import plan_query
from tests.changes.test_compare import GROUP, SINKS, SOURCES, TUMBLE, changes, program, reason

HEADER = '# /// script\n# requires-python = "{python}"\n# dependencies = [{packages}]\n# ///\n'
FUNCTIONS = """
from engine.udf import udf, udaf
@udf
def half(x: int) -> int: return x // 2
@udaf{version}
def middle(values: list[int]) -> int: return sorted(values)[len(values) // 2]
@udaf{version}
class Longest:
    def __init__(self): self.length = {first}
    def add(self, text: str) -> None: self.length = max(self.length, len(text))
    def finish(self) -> int: return self.length
"""
IN_FRONT = TUMBLE.replace("sum(n)", "sum(half(n))")
LISTS = GROUP.replace("sum(n)", "middle(n)")
OBJECTS = GROUP.replace("sum(n)", "longest(page)")
IN_WINDOWS = TUMBLE.replace("sum(n)", "longest(page)")
OWN, OTHER = '"pyarrow>=10"', '"pyarrow>=11"'
OLD, NEW = '"numpy>=1.26"', '"numpy>=2"'


def functions(packages: str = OLD, python: str = ">=3.11", version: int | None = None, first: int = 0) -> str:
    said = "" if version is None else f"(state_version={version})"
    return HEADER.format(python=python, packages=packages) + FUNCTIONS.format(version=said, first=first)


def plan(script: str, before: str, after: str, reset: Collection[str] = ()) -> UpgradePlan:
    return compare(program(script, before), program(script, after), reset=reset)


def of_functions(plan: UpgradePlan) -> list[Verdict]:
    return [verdict for verdict in plan.verdicts if verdict.subject == "function"]


@pytest.mark.parametrize(
    ("script", "name"), [(IN_FRONT, "half"), (LISTS, "middle"), (IN_WINDOWS, "longest")], ids=["row", "lists", "window"]
)
def test_other_packages_take_a_restart_where_what_is_kept_is_values(script: str, name: str) -> None:
    said = plan(script, functions(OLD), functions(NEW))

    (verdict,) = of_functions(said)
    assert (verdict.name, verdict.change) == (name, Change.RESTART)
    assert verdict.reason == "it needs numpy>=2 instead of numpy>=1.26"
    assert (said.is_same, said.loses_nothing, said.keeps_other_objects) == (False, True, False)
    assert changes(said) == [Change.SAME]


def test_another_python_and_a_header_that_was_not_there_are_told() -> None:
    other = plan(IN_FRONT, functions(python=">=3.11"), functions(python=">=3.12"))
    first = plan(IN_FRONT, FUNCTIONS.format(version="", first=0), functions())

    assert reason(other, "function") == "it needs Python >=3.12 instead of Python >=3.11"
    assert reason(first, "function") == "it needs Python >=3.11, numpy>=1.26 instead of nothing"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"numpy >= 1.26", "pyarrow"', '"pyarrow", "numpy>=1.26"'),
        ('"NumPy>=1.26"', '"numpy>=1.26"'),
        ('"typing_extensions"', '"typing-extensions"'),
        ('"numpy>=1.26,<3"', '"numpy < 3, >= 1.26"'),
        ('"fsspec[S3,Gcs_fs]"', '"fsspec[gcs-fs, s3]"'),
        ('"numpy"', '"numpy", "numpy"'),
    ],
)
def test_another_spelling_and_order_of_the_same_packages_are_nothing(before: str, after: str) -> None:
    assert plan(OBJECTS, functions(before), functions(after)).is_same


def test_another_spelling_of_the_same_python_is_nothing() -> None:
    assert plan(OBJECTS, functions(python=">=3.11,<4"), functions(python="<4, >= 3.11")).is_same


def test_functions_that_the_query_does_not_call_are_not_told() -> None:
    assert plan(GROUP, functions(OLD), functions(NEW)).is_same


def test_objects_of_other_packages_are_refused() -> None:
    said = plan(OBJECTS, functions(OLD), functions(NEW))

    assert changes(said) == [Change.REFUSED]
    assert "longest(page)" in reason(said)
    assert said.keeps_other_objects
    assert [verdict.change for verdict in of_functions(said)] == [Change.RESTART]


@pytest.mark.parametrize(
    ("script", "differ"), [(OBJECTS, True), (LISTS, False), (IN_WINDOWS, False)], ids=["objects", "lists", "window"]
)
def test_a_plan_says_what_can_read_its_objects_where_some_are_kept(script: str, differ: bool) -> None:
    old, new = (plan_query(SOURCES + SINKS + script, [functions(packages)]) for packages in (OWN, OTHER))

    assert (old.fingerprint == new.fingerprint, old.objects != new.objects) == (True, differ)
    assert bool(old.objects) == differ


@pytest.mark.parametrize(
    ("before", "after", "is_same"),
    [
        ('"pyarrow >= 10", "NumPy"', '"numpy", "pyarrow>=10"', True),
        ('"pyarrow>=10"', '"pyarrow>=11"', False),
        ('"pyarrow"', '"pyarrow", "numpy"', False),
    ],
)
def test_only_other_packages_make_another_version_not_another_spelling(before: str, after: str, is_same: bool) -> None:
    old, new = (plan_query(SOURCES + SINKS + LISTS, [functions(packages)]) for packages in (before, after))

    assert (old.meaning == new.meaning) == is_same


def test_objects_of_other_packages_can_be_given_up() -> None:
    (operator,) = program(OBJECTS, functions(OLD)).operators

    said = plan(OBJECTS, functions(OLD), functions(NEW), reset=[operator.id])

    assert changes(said) == [Change.STATE_DROPPED]
    assert not said.loses_nothing


def test_objects_stay_under_other_packages_where_their_version_says_so() -> None:
    said = plan(OBJECTS, functions(OLD, version=1), functions(NEW, version=1))

    assert changes(said) == [Change.SAME]
    assert [verdict.change for verdict in of_functions(said)] == [Change.RESTART]
    assert not said.keeps_other_objects


@pytest.mark.parametrize("script", [LISTS, OBJECTS, IN_WINDOWS], ids=["lists", "objects", "window"])
@pytest.mark.parametrize(
    ("before", "after", "change"),
    [(1, 1, Change.STATE_KEPT), (1, 2, Change.REFUSED), (None, 1, Change.REFUSED), (None, None, Change.REFUSED)],
)
def test_other_code_keeps_the_state_where_its_version_says_so(
    script: str, before: int | None, after: int | None, change: Change
) -> None:
    said = plan(script, functions(version=before), functions(version=after, first=1))

    assert changes(said) == [change]
    assert of_functions(said) == []
