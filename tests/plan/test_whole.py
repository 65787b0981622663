"""Which plans a task can do all of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.compile import Program, compile_script
from engine.plan.placement.whole import WholeBranch, whole_branch

TABLES = """
CREATE TABLE bids (
  auction BIGINT, price BIGINT, channel TEXT, seen TIMESTAMP NOT NULL, tags TEXT[]
) WITH (connector = 'single_file', path = '/bids.json', format = 'json', type = 'source', event_time_field = 'seen');
CREATE TABLE changes (id BIGINT PRIMARY KEY, price BIGINT)
WITH (connector = 'single_file', path = '/changes.json', format = 'debezium_json', type = 'source');
"""


def whole(query: str) -> WholeBranch | None:
    return whole_branch(replace(compile_script(TABLES + query), is_fused=True).running_parts)


@pytest.mark.parametrize(
    ("query", "steps"),
    [
        ("SELECT auction, price FROM bids", 1),
        ("SELECT auction, 0.908 * price AS price FROM bids WHERE price > 1000 AND auction % 3 = 0", 1),
        ("SELECT twice * 2.0 AS more FROM (SELECT price * 2.0 AS twice FROM bids) WHERE twice > 1.0", 2),
        ("SELECT 1 AS a FROM (SELECT auction, price FROM bids)", 1),
        ("SELECT row_time() AS at FROM bids WHERE row_time() > '2024-01-01'", 1),
    ],
)
def test_rows_that_need_not_meet_are_all_done_in_a_task(query: str, steps: int) -> None:
    branch = whole(query)

    assert branch is not None
    assert (branch.table, len(branch.steps)) == ("bids", steps)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT auction + 1 AS more FROM bids",
        "SELECT auction FROM bids WHERE channel LIKE 'a%'",
        "SELECT upper(channel) AS channel FROM bids",
        "SELECT tags FROM bids",
        "SELECT id FROM changes",
        "SELECT count(*) FROM bids GROUP BY tumble(INTERVAL '1 minute')",
        "SELECT auction, count(*) FROM bids GROUP BY auction",
        "SELECT price FROM bids UNION ALL SELECT auction FROM bids",
        "SELECT price FROM bids; SELECT auction FROM bids",
        "SELECT price, row_number() OVER (PARTITION BY w ORDER BY price) AS n "
        "FROM (SELECT price, tumble(INTERVAL '1 minute') AS w FROM bids GROUP BY 1, 2)",
    ],
)
def test_branch_that_partly_needs_spark_is_left_to_spark(query: str) -> None:
    assert whole(query) is None


def test_a_filter_that_spark_asks_is_left_to_it() -> None:
    assert whole_branch(compile_script(TABLES + "SELECT auction FROM bids WHERE price > 3").running_parts) is None


def test_a_sink_that_lays_its_files_out_by_time_has_spark_carry_the_time() -> None:
    sink = (
        "CREATE TABLE files (auction BIGINT) WITH (connector = 'filesystem', path = '/out', format = 'json', {option});"
    )
    query = "INSERT INTO files SELECT auction FROM bids"
    by_time = sink.format(option="type = 'sink', 'partitioning.time_pattern' = '%Y'")

    def compiled(declared: str) -> Program:
        return replace(compile_script(TABLES + declared + query), is_fused=True)

    assert compiled(sink.format(option="type = 'sink'")).whole is not None
    assert compiled(by_time).whole is None
    assert replace(compiled(sink.format(option="type = 'sink'")), is_fused=False).whole is None
