"""Which epoch parts one task can do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.compile import compile_script
from engine.plan.explain import explain

TABLES = """
CREATE TABLE bids (auction BIGINT, price BIGINT, share DOUBLE, channel TEXT,
  at TIMESTAMP NOT NULL, WATERMARK FOR at AS at)
WITH (connector = 'single_file', path = '/in', format = 'json', type = 'source');
CREATE TEMPORARY TABLE side (key BIGINT PRIMARY KEY, name TEXT)
WITH (connector = 'filesystem', path = '/side.csv', format = 'csv');
"""
COUNTED = "(SELECT tumble(INTERVAL '2 seconds') AS w, auction, count(*) AS n, max(share) AS s FROM bids GROUP BY 1, 2)"
NAMED = "(SELECT tumble(INTERVAL '2 seconds') AS w, auction, max(channel) AS c FROM bids GROUP BY 1, 2)"


def is_for_one_task(query: str, *, fuse: bool = True) -> bool:
    """Whether the plan of a query says so."""
    return replace(compile_script(TABLES + query), is_fused=fuse).is_for_one_task


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT a.auction, n, c FROM {COUNTED} a JOIN {NAMED} b ON a.w = b.w AND a.auction = b.auction",
        f"SELECT a.auction, n, c FROM {COUNTED} a LEFT JOIN {NAMED} b ON a.w = b.w AND a.auction = b.auction AND n > 3",
        f"SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY w ORDER BY n DESC, auction) AS p FROM {COUNTED}) "
        "WHERE p = 1",
        f"SELECT *, rank() OVER (PARTITION BY w, auction ORDER BY s) AS p FROM {COUNTED}",
    ],
)
def test_joins_within_windows_and_rankings_are_done_in_one(query: str) -> None:
    assert is_for_one_task(query)
    assert not is_for_one_task(query, fuse=False)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT auction, price FROM bids",
        f"SELECT w, n FROM {COUNTED}",
        f"SELECT a.auction, n, c FROM {COUNTED} a JOIN {NAMED} b ON a.w = b.w AND a.auction + 1 = b.auction",
        f"SELECT a.auction, a.n FROM {COUNTED} a JOIN {COUNTED} b ON a.w = b.w AND a.s = b.s",
        f"SELECT a.auction, n + 1 AS m FROM {COUNTED} a JOIN {NAMED} b ON a.w = b.w AND a.auction = b.auction",
        f"SELECT *, sum(n) OVER (PARTITION BY w ORDER BY auction) AS p FROM {COUNTED}",
        f"SELECT *, row_number() OVER (PARTITION BY w, s ORDER BY auction) AS p FROM {COUNTED}",
        f"SELECT *, row_number() OVER (PARTITION BY w ORDER BY n / 2) AS p FROM {COUNTED}",
        f"SELECT w, max(n) AS m FROM {COUNTED} GROUP BY w",
        "SELECT a.auction FROM bids a JOIN bids b ON a.auction = b.price",
        f"SELECT name, p FROM (SELECT *, row_number() OVER (PARTITION BY w ORDER BY n) AS p FROM {COUNTED}) "
        "JOIN side ON auction = key",
    ],
)
def test_unsupported_function_is_left_to_spark(query: str) -> None:
    assert not is_for_one_task(query)


def test_the_plan_says_so() -> None:
    program = replace(
        compile_script(f"{TABLES}SELECT *, rank() OVER (PARTITION BY w ORDER BY n) AS p FROM {COUNTED}"), is_fused=True
    )

    first, *_ = explain(program.running_parts, in_one_task=program.is_for_one_task).splitlines()

    assert (
        first
        == "epoch part, once per epoch over what the stream part released, in one task where Spark is on one machine"
    )
