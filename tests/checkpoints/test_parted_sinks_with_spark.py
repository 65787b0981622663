"""Of two tables that have the rows of one updating operator, one gets another query: both go on with all they have."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping

import pytest

from engine.checkpoints import spark_log
from tests.checkpoints.test_carry_over_with_spark import LAST, Pipeline, all_events, pipeline
from tests.checkpoints.test_changed_behind_keys import all_groups
from tests.checkpoints.test_upgrade_with_spark import upgrade
from tests.golden.folding import fold

__all__ = ["pipeline"]
pytestmark = pytest.mark.spark

EVENTS = "(SELECT * FROM events WHERE key = 'a')"
GROUPS = f"SELECT number % 16 AS g, count(*) AS n, sum(number) AS s FROM {EVENTS} GROUP BY number % 16"
AGAIN = f"SELECT n AS g, count(*) AS n, sum(s) AS s FROM ({GROUPS}) GROUP BY n"
PAIRS = f"SELECT l.number AS g, l.number AS n, r.number AS s FROM {EVENTS} l JOIN {EVENTS} r ON l.number = r.number - 5"
PLACES = "row_number() OVER (PARTITION BY number % 16 ORDER BY number DESC) AS place"
NEWEST = f"SELECT g, n, s FROM (SELECT number % 16 AS g, 1 AS n, number AS s, {PLACES} FROM {EVENTS}) WHERE place = 1"
Rows = Mapping[int, tuple[int, int]]


def again() -> Rows:
    sums: dict[int, list[int]] = defaultdict(list)
    for n, s in all_groups().values():
        sums[n].append(s)
    return {n: (len(group), sum(group)) for n, group in sums.items()}


def pairs() -> Rows:
    numbers = {number for _, key, number in all_events() if key == "a"}
    return {number: (number, number + 5) for number in numbers if number + 5 in numbers}


def newest() -> Rows:
    return {number % 16: (1, number) for _, key, number in all_events() if key == "a"}


QUERIES = {"groups": (GROUPS, all_groups), "again": (AGAIN, again), "pairs": (PAIRS, pairs), "newest": (NEWEST, newest)}


def script(story: Pipeline, first: str, second: str, more: str = "") -> str:
    tables = "".join(
        f"CREATE TABLE {name} (g BIGINT, n BIGINT, s BIGINT) WITH (connector = 'single_file', "
        f"path = '{story.folder}/{name}', format = 'debezium_json', type = 'sink');"
        for name in ("first", "second")
    )
    return f"{tables}{more}INSERT INTO first {first}; INSERT INTO second {second};"


def written(story: Pipeline, table: str) -> Rows:
    rows = fold((story.folder / table).read_text().splitlines(), ("g",)).values()
    return {int(str(row["g"])): (int(str(row["n"])), int(str(row["s"]))) for row in rows}


def stop_between(story: Pipeline, sql: str) -> None:
    """Stop so that an epoch was taken by the sinks, and Spark does not know it yet."""
    epochs = upgrade(story, sql, stop_after=LAST + 2)
    (story.paths.checkpoint / "commits" / str(epochs[-1])).unlink()
    (story.paths.checkpoint / "offsets" / str(epochs[-1] + 1)).unlink(missing_ok=True)


@pytest.mark.parametrize("name", QUERIES)
def test_both_have_the_batch_answer_over_all_input(pipeline: Pipeline, name: str) -> None:
    """Also with another place before them that reads the table, and after a kill."""
    query, answer = QUERIES[name]
    plain = "INSERT INTO plain SELECT key, number FROM events;"
    pipeline.run(script(pipeline, query, query), LAST)
    parted = script(pipeline, query, f"SELECT g, abs(n) AS n, s FROM ({query})", plain)

    stop_between(pipeline, parted)
    pipeline.run(parted)

    assert written(pipeline, "first") == answer()
    assert written(pipeline, "second") == answer()
    assert len(spark_log.operators_of(pipeline.paths.checkpoint)) == (4 if name == "again" else 2)


def test_another_condition_of_one_is_told_of_all_keys_and_nothing_of_it_to_the_other(pipeline: Pipeline) -> None:
    pipeline.run(script(pipeline, GROUPS, GROUPS), LAST)
    parted = script(pipeline, GROUPS, f"{GROUPS} HAVING sum(number) > 20")

    stop_between(pipeline, parted)
    pipeline.run(parted)

    assert written(pipeline, "first") == all_groups()
    assert written(pipeline, "second") == {g: row for g, row in all_groups().items() if row[1] > 20}


def test_an_aggregate_that_is_taken_out_for_one_goes_on_for_the_other(pipeline: Pipeline) -> None:
    """In another order, too, so that the copy has another form."""
    pipeline.run(script(pipeline, GROUPS, GROUPS), LAST)
    sums = f"SELECT number % 16 AS g, sum(number) AS s FROM {EVENTS} GROUP BY number % 16"
    parted = script(pipeline, GROUPS, f"SELECT g, CAST(1 AS BIGINT) AS n, s FROM ({sums})")

    upgrade(pipeline, parted)

    assert written(pipeline, "first") == all_groups()
    assert newest_sums(pipeline) == {g: s for g, (_, s) in all_groups().items()}


def newest_sums(story: Pipeline) -> Mapping[int, int]:
    """What the second table has of each key in the end: rows of before the change have other columns."""
    lines = map(json.loads, (story.folder / "second").read_text().splitlines())
    return {line["after"]["g"]: line["after"]["s"] for line in lines if line["after"] is not None}
