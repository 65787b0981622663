"""Aggregates that are withheld in some windows: the plan that runs says so, whatever it says else."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from engine.compile import compile_script
from engine.plan.explain import show
from engine.plan.nodes import Filter, Project, WindowAggregate
from engine.plan.state.withheld import RANGES, ROWS, ranges_of, step_of, withhold
from engine.plan.tree import walk

SCRIPT = """
CREATE TABLE clicks (at TIMESTAMP NOT NULL, user TEXT, n BIGINT, WATERMARK FOR at)
WITH (connector = 'kafka', bootstrap_servers = 'k:9092', topic = 'clicks', format = 'json', type = 'source');
SELECT tumble('1 minute') AS w, user, count(*) AS c FROM clicks GROUP BY 1, 2;
SELECT hop('20 seconds', '1 minute') AS w, user, count(*) AS c, sum(n) AS s FROM clicks GROUP BY 1, 2;
"""
MINUTE = 60_000_000


def test_windows_that_come_one_after_the_other_are_one_range() -> None:
    assert ranges_of([0, 10, 20, 50], 10) == ((0, 20), (50, 50))
    assert ranges_of([], 10) == ()


@given(st.sets(st.integers(0, 2000)))
def test_every_window_is_in_a_range_and_there_are_not_many(places: set[int]) -> None:
    starts = sorted(place * 10 for place in places)

    ranges = ranges_of(starts, 10)

    assert len(ranges) <= RANGES
    assert all(any(first <= start <= last for first, last in ranges) for start in starts)
    assert all(before[1] + 10 < after[0] for before, after in pairwise(ranges))
    if sum(after - before > 10 for before, after in pairwise(starts)) < RANGES:
        assert {*range(0, 20_010, 10)} & {x for a, b in ranges for x in range(a, b + 1, 10)} == {*starts}


def test_a_projection_stands_above_the_windows_of_that_operator_alone() -> None:
    parts = compile_script(SCRIPT).parts

    changed = withhold(parts, {1: {1: [(0, MINUTE), (5 * MINUTE, 5 * MINUTE)]}})

    assert changed.branches[0] == parts.branches[0]
    (project,) = (
        node for node in walk(changed.branches[1]) if isinstance(node, Project) and node.input in windows(parts)
    )
    assert [named.name for named in project.columns] == list(project.input.schema.names)
    assert [show(named.expr) for named in project.columns[:-1]] == list(project.input.schema.names[:-1])
    assert "1970-01-01 00:05:00" in show(project.columns[-1].expr)
    assert withhold(parts, {}) is parts


def windows(parts: object) -> list[WindowAggregate]:
    return [node for branch in parts.branches for node in walk(branch) if isinstance(node, WindowAggregate)]  # type: ignore[attr-defined]


def test_a_step_is_from_window_to_window() -> None:
    tumble, hop = windows(compile_script(SCRIPT).parts)

    assert (step_of(tumble), step_of(hop)) == (MINUTE, MINUTE // 3)


def test_windows_that_are_held_back_give_out_no_row_and_the_others_show_null_where_that_is_asked() -> None:
    parts = compile_script(SCRIPT).parts
    held_back = withhold(parts, {1: {ROWS: [(0, MINUTE), (5 * MINUTE, 5 * MINUTE)]}})
    (condition,) = (
        node for node in walk(held_back.branches[1]) if isinstance(node, Filter) and node.input in windows(parts)
    )

    assert held_back.branches[0] == parts.branches[0]
    assert show(condition.condition).startswith("not(")
    assert "1970-01-01 00:05:00" in show(condition.condition)
    both = withhold(parts, {1: {ROWS: [(0, 0)], 1: [(MINUTE, MINUTE)]}})
    assert [type(node) for node in walk(both.branches[1]) if getattr(node, "input", None) in windows(parts)] == [Filter]
    shown = [show(node.columns[-1].expr) for node in walk(both.branches[1]) if isinstance(node, Project)]
    assert any(text.startswith("CASE WHEN") for text in shown)
