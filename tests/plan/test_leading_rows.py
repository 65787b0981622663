"""A ranking of which only the first places are asked for sorts no rows that cannot have one."""

from __future__ import annotations

import pytest

from engine.compile import compile_script
from engine.plan.expressions.expr import Column
from engine.plan.nodes import Filter
from engine.plan.placement.whole import Leading, leading_of_branch, leading_rows
from engine.plan.tree import walk

TABLES = """
CREATE TABLE bids (auction BIGINT, price BIGINT, channel TEXT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at)
WITH (connector = 'single_file', path = '/in', format = 'json', type = 'source');
CREATE TABLE best WITH (connector = 'blackhole');
"""
COUNTED = (
    "(SELECT tumble(INTERVAL '2 seconds') AS w, auction, count(*) AS n, max(channel) AS c FROM bids GROUP BY 1, 2)"
)


def leading(functions: str, condition: str, *, columns: str = "w.start AS first, auction, n") -> Leading | None:
    """What is said of the rows below the filter of a query."""
    ranked = f"SELECT {columns}, {functions} FROM {COUNTED}"
    program = compile_script(f"{TABLES} INSERT INTO best SELECT n FROM ({ranked}) WHERE {condition};")
    nodes = [node for write in program.parts.writes for node in walk(write) if isinstance(node, Filter)]
    answers = [answer[1] for node in nodes if (answer := leading_rows(node)) is not None]
    return answers[0] if answers else None


@pytest.mark.parametrize(
    ("ranking", "condition", "places"),
    [
        ("row_number", "place = 1", 1),
        ("row_number", "place <= 3 AND n > 1", 3),
        ("row_number", "place < 3", 2),
        ("rank", "place <= 10", 10),
        ("dense_rank", "place = 1", 1),
        ("row_number", "place = 2", 2),
    ],
)
def test_a_row_must_be_among_the_first_by_what_counts_first(ranking: str, condition: str, places: int) -> None:
    said = leading(f"{ranking}() OVER (PARTITION BY w ORDER BY n DESC, auction) AS place", condition)

    assert said is not None
    assert (said.window, said.descending, said.places) == ("w", True, places)
    assert isinstance(said.value, Column)
    assert said.value.name == "n"


@pytest.mark.parametrize(
    ("functions", "condition"),
    [
        ("row_number() OVER (PARTITION BY w ORDER BY n DESC) AS place", "n > 3"),
        ("row_number() OVER (PARTITION BY w ORDER BY n DESC) AS place", "place > 3"),
        ("row_number() OVER (PARTITION BY w ORDER BY n DESC) AS place", "place <= 1001"),
        ("row_number() OVER (PARTITION BY w, auction ORDER BY n DESC) AS place", "place = 1"),
        ("row_number() OVER (PARTITION BY w ORDER BY c) AS place", "place = 1"),
        ("row_number() OVER (PARTITION BY w ORDER BY n / 2) AS place", "place = 1"),
        ("dense_rank() OVER (PARTITION BY w ORDER BY n DESC) AS place", "place <= 2"),
        ("sum(n) OVER (PARTITION BY w ORDER BY n) AS place", "place = 1"),
        (
            "row_number() OVER (PARTITION BY w ORDER BY n DESC) AS place, sum(n) OVER (PARTITION BY w) AS total",
            "place = 1 AND total > 0",
        ),
    ],
)
def test_all_rows_are_needed_otherwise(functions: str, condition: str) -> None:
    assert leading(functions, condition) is None


@pytest.mark.parametrize(
    ("then", "columns"), [("auction", "w, auction, 10 / n AS n, 1 AS one"), ("10 / auction", "w, n")]
)
def test_all_rows_are_needed_where_something_is_computed_that_could_fail(then: str, columns: str) -> None:
    ranking = f"row_number() OVER (PARTITION BY w ORDER BY n DESC, {then}) AS place"

    assert leading(ranking, "place = 1", columns=columns) is None


RANKED = f"SELECT w, auction, n, row_number() OVER (PARTITION BY w ORDER BY n DESC, auction) AS place FROM {COUNTED}"


def test_rows_that_only_a_ranking_reads_need_not_be_gathered() -> None:
    program = compile_script(f"{TABLES} INSERT INTO best SELECT n FROM ({RANKED}) WHERE place = 1;")

    assert leading_of_branch(program.parts) is not None


def test_rows_that_something_else_reads_as_well_are_all_gathered() -> None:
    both = f"(SELECT w, auction, n FROM {COUNTED} UNION ALL SELECT w, auction, n + 1 FROM {COUNTED})"
    best, worst = (
        "SELECT w, n FROM (SELECT w, n, row_number() OVER "
        f"(PARTITION BY w ORDER BY n {order}, auction) AS place FROM {both}) WHERE place = 1"
        for order in ("DESC", "ASC")
    )
    query = f"SELECT n FROM ({best} UNION ALL {worst})"
    program = compile_script(f"{TABLES} INSERT INTO best {query};")

    assert len(program.parts.branches) == 1
    assert leading_of_branch(program.parts) is None
