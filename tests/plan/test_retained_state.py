"""What EXPLAIN says is kept, against what the operators do keep."""

from __future__ import annotations

from itertools import product

import pytest

from engine import types
from engine.compile import compile_script
from engine.functions import AGGREGATES
from engine.plan.explain import explain_state
from engine.plan.expressions.expr import Column
from engine.plan.nodes import Aggregate
from engine.plan.state.panes import as_it_begins
from engine.plan.state.retained_state import needs_values, needs_values_in_window
from engine.spark.printers.aggregates import aggregate_to_sql
from engine.updating.accumulators import Measure, keeps_values

TABLES = """
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT)
WITH (connector = 'single_file', path = '/e', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE d (k TEXT, n BIGINT)
WITH (connector = 'single_file', path = '/o', format = 'debezium_json', type = 'sink');
SET updating_ttl = '6 hours';
"""


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ("SELECT key FROM events", ["nothing but how far the sources were read"]),
        (
            "SELECT count(*) FROM events GROUP BY tumble('1 hour')",
            ["branch 0, WindowAggregate: a row of each window and key, for 1 hour and until late rows are refused"],
        ),
        (
            "SELECT median(value) FROM events GROUP BY hop('20 seconds', '1 minute'), key",
            [
                "branch 0, WindowAggregate: a row and every value for median(...) of each window and key, for 1 minute"
                " and until late rows are refused; each row is in 3 windows"
            ],
        ),
        (
            "SELECT key FROM events GROUP BY session('90 seconds'), key",
            ["branch 0, WindowAggregate: a row of each session and key, until 90 seconds after its last row"],
        ),
        (
            "SELECT max(n) FROM (SELECT tumble('2 days') AS w, count(*) AS n FROM events GROUP BY 1, key) GROUP BY w",
            ["branch 0, WindowAggregate: a row of each window and key, for 2 days and until late rows are refused"],
        ),
        (
            "INSERT INTO d SELECT key, max(n) FROM (SELECT key, max(value) AS n FROM events GROUP BY 1, at) GROUP BY 1",
            [
                "branch 0, UpdatingAggregate: a row and every value for max(...) of each key, for 6 hours after"
                " its last change",
                "branch 0, UpdatingAggregate: a row of each key, for 6 hours after its last change",
            ],
        ),
        (
            "SELECT a.value FROM events AS a JOIN events AS b ON a.key = b.key",
            ["branch 0, UpdatingJoin: every row of both sides, for 6 hours after its last change"],
        ),
    ],
)
def test_a_plan_says_what_it_keeps_and_for_how_long(query: str, lines: list[str]) -> None:
    parts = compile_script(TABLES + query).parts

    assert explain_state(parts).splitlines() == ["kept between epochs", *(f"  {line}" for line in lines)]


def test_a_plan_says_what_is_kept_by_pane_where_it_begins() -> None:
    program = compile_script(TABLES + "SELECT count(*) FROM events GROUP BY hop('20 seconds', '70 seconds'), key")

    parts = as_it_begins(program.parts, program.operators)

    assert explain_state(parts).splitlines()[1:] == [
        "  branch 0, WindowAggregate: a row of each pane of 10 seconds and key, for 70 seconds and until late rows are"
        " refused; each row is in 4 windows, which are made of panes"
    ]


def aggregates() -> list[Aggregate]:
    """Each declared aggregate over columns of the first types that it takes, with DISTINCT and without."""
    calls = []
    for name, declared in AGGREGATES.items():
        kinds = (types.BIGINT, types.TEXT, types.BOOLEAN, types.DOUBLE)
        kinds_taken = next(
            arguments
            for count in (1, 2, 3)
            for arguments in product(kinds, repeat=count)
            if declared.resolve(arguments) is not None
        )
        signature = declared.resolve(kinds_taken)
        assert signature is not None
        columns = tuple(Column(f"c{index}", kind) for index, kind in enumerate(signature.arguments))
        calls += [Aggregate(name, columns, signature.result, distinct=distinct) for distinct in (False, True)]
    return calls


@pytest.mark.parametrize("only_appends", [True, False])
def test_the_values_that_it_says_are_kept_without_a_window_are_those_that_are(only_appends: bool) -> None:
    wrong = []
    for aggregate in aggregates():
        measure = Measure(
            aggregate.function, tuple(part.type for part in aggregate.arguments), aggregate.type, aggregate.distinct
        )
        says = needs_values(aggregate, only_appends=only_appends)
        if says != keeps_values(measure, only_appends=only_appends):
            wrong.append((aggregate.function, aggregate.distinct, says))

    assert wrong == []


def test_the_values_that_it_says_are_kept_in_a_window_are_those_that_spark_collects() -> None:
    plain = [aggregate for aggregate in aggregates() if not aggregate.distinct]
    collected = {aggregate.function for aggregate in plain if "collect_list" in aggregate_to_sql(aggregate)}

    assert collected == {aggregate.function for aggregate in plain if needs_values_in_window(aggregate)}
