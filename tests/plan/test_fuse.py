"""What moves into the task of a source, and what does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.cli.main import main
from engine.compile import Program, compile_script
from engine.plan.explain import explain
from engine.plan.nodes import Filter, Fused
from engine.plan.tree import walk

TABLES = """
CREATE TABLE bids (
  auction BIGINT, bidder BIGINT, price BIGINT, channel TEXT, ratio DOUBLE, seen TIMESTAMP NOT NULL, hot BOOLEAN
) WITH (connector = 'single_file', path = '/bids.json', format = 'json', type = 'source', event_time_field = 'seen');
CREATE TABLE changes (id BIGINT PRIMARY KEY, price BIGINT)
WITH (connector = 'single_file', path = '/changes.json', format = 'debezium_json', type = 'source');
"""


def fused(query: str) -> Program:
    return replace(compile_script(TABLES + query), is_fused=True)


def in_the_tasks(query: str) -> list[str]:
    """What the plan says of the tasks of the sources."""
    lines = explain(fused(query).running_parts).splitlines()
    return [line.strip().removeprefix("In the source's task: ") for line in lines if "In the source's task" in line]


def filters(query: str) -> int:
    branches = fused(query).running_parts.branches
    return sum(isinstance(node, Filter) for branch in branches for node in walk(branch))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "SELECT price FROM (SELECT price, channel::json ->> 'a' AS a FROM bids) WHERE a = 'x'",
            "Filter (json_as_text(CAST(channel AS JSON), 'a') = 'x'), columns (price, channel)",
        ),
        (
            "SELECT auction, price FROM bids WHERE auction % 123 = 0",
            "Filter ((auction % 123) = 0), columns (auction, price)",
        ),
        (
            "SELECT price FROM bids WHERE auction % 123 = 0 AND hot",
            "Filter (((auction % 123) = 0) and hot), columns (price)",
        ),
        ("SELECT 1 AS one FROM bids WHERE hot", "Filter hot, columns (hot)"),
        (
            "SELECT price FROM (SELECT price, auction AS a FROM bids) WHERE a > 3",
            "Filter (auction > 3), columns (auction, price)",
        ),
        (
            "SELECT count(*) FROM bids WHERE price > 10 GROUP BY bidder, tumble(INTERVAL '1 minute')",
            "Filter (price > 10), partial count(*) by panes of INTERVAL '1 minute', bidder, columns (bidder)",
        ),
        (
            "SELECT count(*) FROM bids WHERE price > 10 GROUP BY bidder, session(INTERVAL '1 minute')",
            "Filter (price > 10), partial count(*) by bursts with gaps below INTERVAL '1 minute', bidder, "
            "columns (bidder)",
        ),
        (
            "SELECT bidder, sum(price) FROM bids WHERE hot GROUP BY bidder",
            "Filter hot, partial count(*), sum(price), count(price) by bidder, columns (bidder)",
        ),
        ("SELECT bidder, sum(ratio) FROM bids WHERE hot GROUP BY bidder", "Filter hot, columns (bidder, ratio)"),
        ("SELECT max(price) FROM bids WHERE hot", "Filter hot, partial count(*), max(price), columns ()"),
        (
            "SELECT price FROM bids WHERE row_time() > '2024-01-01'",
            "Filter (_timestamp > CAST('2024-01-01' AS TIMESTAMP)), columns (price)",
        ),
        (
            "SELECT bidder FROM (SELECT DISTINCT bidder FROM bids WHERE ratio * 2.0 < 1.0)",
            "Filter ((ratio * 2.0) < 1.0), partial count(*) by bidder, columns (bidder)",
        ),
    ],
)
def test_a_filter_moves_into_the_task_with_the_columns_that_only_it_reads(query: str, expected: str) -> None:
    assert in_the_tasks(query) == [expected]
    assert filters(query) == 0


@pytest.mark.parametrize(
    "condition",
    [
        "auction % bidder = 0",
        "auction % 0 = 0",
        "price + 1 > 10",
        "CAST(channel AS BIGINT) > 1",
        "channel LIKE 'a%'",
        "ratio IN (0.0, 1.0)",
        "CAST(price AS TEXT) = '1'",
        "length(channel) > 3",
        "random() < 0.5",
        "hot AND price / 2 > 1",
        "1 = 0",
    ],
)
def test_condition_that_may_fail_or_is_not_proven_equal_is_not_pushed_down(condition: str) -> None:
    assert in_the_tasks(f"SELECT price FROM bids WHERE {condition}") == []


def test_condition_that_is_not_pushed_down_does_not_hold_back_others() -> None:
    query = "SELECT price FROM bids WHERE channel ILIKE 'a%' AND price > 3"

    assert in_the_tasks(query) == ["Filter (price > 3), columns (price, channel)"]
    assert filters(query) == 1


@pytest.mark.parametrize(
    "query",
    [
        "SELECT more FROM (SELECT price + 1 AS more, auction FROM bids) WHERE auction > 3",
        "SELECT price FROM (SELECT price, auction FROM bids WHERE price / auction > 1) WHERE auction > 3",
        "SELECT n FROM (SELECT length(channel) AS n FROM bids) WHERE n > 3",
        "SELECT price FROM changes WHERE price > 3",
        "SELECT a.price FROM bids AS a JOIN bids AS b ON a.auction = b.auction WHERE a.hot",
        "SELECT price FROM bids WHERE hot UNION ALL SELECT auction FROM bids",
        "SELECT price FROM bids WHERE hot UNION ALL SELECT auction FROM bids WHERE length(channel) > 3",
    ],
)
def test_nothing_moves_past_a_failing_condition_or_into_a_fully_read_table(query: str) -> None:
    assert in_the_tasks(query) == []
    assert fused(query).running_parts == fused(query).parts


def test_the_sides_of_a_join_have_their_tests_moved_each_into_its_own_table() -> None:
    tables = TABLES + TABLES.replace("TABLE bids", "TABLE asks").replace("TABLE changes", "TABLE others")
    query = "SELECT bids.price FROM bids JOIN asks ON bids.auction = asks.auction WHERE bids.hot AND asks.price > 3"
    program = replace(compile_script(tables + query), is_fused=True)

    nodes = [node for branch in program.running_parts.branches for node in walk(branch) if isinstance(node, Fused)]
    assert sorted(node.input.table for node in nodes) == ["asks", "bids"]


def test_task_omits_rows_that_neither_reader_of_a_table_needs() -> None:
    query = "SELECT price FROM bids WHERE hot AND price > 3 UNION ALL SELECT auction FROM bids WHERE auction > 7"

    expected = "Filter ((hot and (price > 3)) or (auction > 7)), columns (auction, price, hot)"
    assert in_the_tasks(query) == [expected] * 2
    assert filters(query) == 2


def test_readers_who_want_the_same_have_the_task_leave_out_the_others() -> None:
    query = "SELECT price FROM bids WHERE hot UNION ALL SELECT auction FROM bids WHERE hot"

    assert in_the_tasks(query) == ["Filter hot, columns (auction, price, hot)"] * 2


def test_columns_of_columns_of_columns_do_not_grow_without_end() -> None:
    query = "SELECT ratio AS r FROM bids"
    for _ in range(30):
        query = f"SELECT r * r AS r FROM ({query})"

    assert in_the_tasks(f"{query} WHERE r > 1.0") == []


def test_a_fused_plan_is_the_same_plan() -> None:
    script = TABLES + "SELECT price FROM bids WHERE hot"
    plain = compile_script(script)

    assert replace(plain, is_fused=True).fingerprint == plain.fingerprint
    assert plain.running_parts == plain.parts
    assert fused("SELECT price FROM bids WHERE hot").running_parts.writes == plain.parts.writes


def test_explain_shows_what_is_done_in_the_tasks_unless_told_not_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "query.sql").write_text(TABLES + "SELECT price FROM bids WHERE hot")
    shown = "In the source's task: Filter hot, columns (price)"

    assert main(["explain", str(tmp_path / "query.sql")]) == 0
    explained = capsys.readouterr().out
    assert shown in explained
    assert "branch 0, read, computed and written in the task of the source" in explained
    assert main(["explain", str(tmp_path / "query.sql"), "--fuse=off"]) == 0
    assert shown not in capsys.readouterr().out
