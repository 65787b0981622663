"""Which windows have their rows merged in the task of the source."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from engine.compile import compile_script
from engine.plan.nodes import Burst, Pane, Partials
from engine.plan.tree import walk

TABLES = """
CREATE TABLE bids (
  auction BIGINT, price BIGINT, small INT, many INT UNSIGNED, ratio DOUBLE, exact DECIMAL(10, 2), channel TEXT,
  seen TIMESTAMP NOT NULL, hot BOOLEAN
) WITH (connector = 'single_file', path = '/bids.json', format = 'json', type = 'source', event_time_field = 'seen');
"""
MINUTE = "tumble(INTERVAL '1 minute')"


def partials(query: str) -> list[Partials]:
    program = replace(compile_script(TABLES + query), is_fused=True)
    nodes = [node for branch in program.running_parts.branches for node in walk(branch)]
    return [node for node in nodes if isinstance(node, Partials)]


@pytest.mark.parametrize(
    ("results", "columns"),
    [
        ("count(*) AS a, count(*) AS b", ["auction", "__rows"]),
        ("count(price) AS a, count(*) AS b, count(price) AS c", ["auction", "__rows", "__partial0"]),
        ("count(ratio) AS a, count(exact) AS b", ["auction", "__rows", "__partial0", "__partial1"]),
        ("sum(price) AS a, sum(small) AS b", ["auction", "__rows", "__partial0", "__partial1"]),
        ("min(price) AS a, max(seen) AS b, max(channel) AS c, min(hot) AS d, max(many) AS e", None),
    ],
)
def test_counts_sums_and_extremes_are_merged(results: str, columns: list[str] | None) -> None:
    (merged,) = partials(f"SELECT auction, {MINUTE} AS w, {results} FROM bids GROUP BY auction, w")

    assert columns is None or list(merged.schema.names) == columns


@pytest.mark.parametrize(
    "result",
    [
        "avg(price)",
        "sum(ratio)",
        "sum(exact)",
        "sum(many)",
        "max(ratio)",
        "min(exact)",
        "count(*) FILTER (WHERE hot)",
        "sum(price + 1)",
        "max(coalesce(price, 0))",
        "count(1)",
        "array_agg(price)",
        "stddev(price)",
    ],
)
def test_a_window_with_any_other_aggregate_is_not(result: str) -> None:
    assert partials(f"SELECT auction, {MINUTE} AS w, {result} AS r FROM bids GROUP BY auction, w") == []


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT upper(channel) AS k, {MINUTE} AS w, count(*) AS n FROM bids GROUP BY k, w",
        f"SELECT {MINUTE} AS w, count(*) AS n FROM bids WHERE length(channel) > 3 GROUP BY w",
        f"SELECT {MINUTE} AS w, count(*) AS n FROM bids WHERE price / auction > 3 GROUP BY w",
        f"SELECT {MINUTE} AS w, count(*) AS n FROM bids GROUP BY w UNION ALL "
        f"SELECT {MINUTE} AS w, max(price) AS n FROM bids GROUP BY w",
    ],
)
def test_other_windows_keys_filters_and_shared_tables_are_not(query: str) -> None:
    assert partials(query) == []


def test_a_pane_is_as_long_as_its_rows_are_in_the_same_windows() -> None:
    hop = "SELECT hop(INTERVAL '2 seconds', INTERVAL '10 seconds') AS w, count(*) AS n FROM bids GROUP BY w"

    assert [node.stretch for node in partials(hop)] == [Pane(timedelta(seconds=2))]
    assert [node.stretch for node in partials(f"SELECT {MINUTE} AS w, count(*) AS n FROM bids GROUP BY w")] == [
        Pane(timedelta(minutes=1))
    ]


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        (
            "SELECT auction, count(*) AS n, max(price) AS m FROM bids GROUP BY auction",
            ("auction", "__rows", "__partial0"),
        ),
        ("SELECT count(price) AS n FROM bids", ("__rows", "__partial0")),
        ("SELECT DISTINCT channel FROM bids", ("channel", "__rows")),
        ("SELECT sum(small) AS s, sum(small) AS t FROM bids", ("__rows", "__partial0", "__partial1")),
    ],
)
def test_updating_aggregates_are_merged_by_key_alone(query: str, columns: tuple[str, ...]) -> None:
    (merged,) = partials(query)

    assert merged.stretch is None
    assert merged.schema.names == columns


@pytest.mark.parametrize(
    "query",
    [
        "SELECT auction, count(DISTINCT price) AS n FROM bids GROUP BY auction",
        "SELECT auction, avg(price) AS n FROM bids GROUP BY auction",
        "SELECT auction, sum(ratio) AS n FROM bids GROUP BY auction",
        "SELECT auction, count(*) FILTER (WHERE hot) AS n FROM bids GROUP BY auction",
    ],
)
def test_updating_aggregates_that_keep_values_or_more_are_not(query: str) -> None:
    assert partials(query) == []


def test_lower_of_two_updating_aggregates_is_pre_aggregated() -> None:
    (merged,) = partials(
        "SELECT auction, max(n) AS m FROM (SELECT auction, price, count(*) AS n FROM bids GROUP BY auction, price) "
        "GROUP BY auction"
    )

    assert merged.schema.names == ("auction", "price", "__rows")


def test_sessions_are_pre_aggregated_by_bursts() -> None:
    (merged,) = partials(
        "SELECT auction % 7 AS k, session(INTERVAL '1 minute') AS w, max(price) AS m FROM bids WHERE hot GROUP BY k, w"
    )

    assert merged.stretch == Burst(timedelta(minutes=1))
    assert merged.schema.names == ("auction", "__rows", "__last", "__partial0")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT session(INTERVAL '1 minute') AS w, count(DISTINCT auction) AS n FROM bids GROUP BY w",
        "SELECT session(INTERVAL '9000000 days') AS w, count(*) AS n FROM bids GROUP BY w",
    ],
)
def test_sessions_of_different_values_and_of_enormous_gaps_are_not_merged(query: str) -> None:
    assert partials(query) == []


def test_filters_and_projections_below_are_done_first() -> None:
    (merged,) = partials(
        f"SELECT k, {MINUTE} AS w, max(p) AS m FROM (SELECT auction % 7 AS k, price AS p, hot FROM bids) "
        "WHERE hot GROUP BY k, w"
    )

    assert merged.columns.names == ("auction",)
    assert merged.condition is not None
    assert merged.schema.names == ("auction", "__rows", "__partial0")


def test_distinct_values_are_pre_aggregated_with_their_key() -> None:
    (merged,) = partials(f"SELECT auction, {MINUTE} AS w, count(DISTINCT price) AS n FROM bids GROUP BY auction, w")

    assert merged.schema.names == ("auction", "price", "__rows")
