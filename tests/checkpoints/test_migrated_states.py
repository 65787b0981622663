"""Windows whose aggregates are changed in the middle of their input: those that stay are whole, those that are new are
NULL in the windows that were open, and right in all later ones."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

import duckdb
import pytest

from engine.changes.compare import compare
from engine.checkpoints.late_batches import read_withheld
from engine.checkpoints.rescale import repartition
from engine.checkpoints.restore import restore
from engine.checkpoints.savepoints import take
from engine.compile import compile_script
from engine.spark.run.run_spec import StateUpgrade
from engine.values.instants import now
from tests.checkpoints.test_carry_over_with_spark import LAST, STEPS, Pipeline, events_of, pipeline
from tests.checkpoints.test_upgrade_with_spark import last_of_old, upgrade
from tests.streams.play import START

__all__ = ["pipeline"]
pytestmark = pytest.mark.spark

AGGREGATES = {
    "n": ("count(*)", "BIGINT"),
    "c": ("count(number)", "BIGINT"),
    "s": ("sum(number)", "BIGINT"),
    "lo": ("min(number)", "BIGINT"),
    "hi": ("max(number)", "BIGINT"),
    "m": ("avg(number)", "DOUBLE"),
    "d": ("sum(CAST(number AS DECIMAL(20, 2)))", "DECIMAL(30, 2)"),
    "e": ("sum(CAST(number AS DECIMAL(6, 2)))", "DECIMAL(16, 2)"),
    "a": ("avg(CAST(number AS DECIMAL(20, 2)))", "DECIMAL(24, 6)"),
    "b": ("bool_or(number > 7)", "BOOLEAN"),
    "x": ("bit_xor(number)", "BIGINT"),
    "v": ("stddev_pop(number)", "DOUBLE"),
}
TUMBLE, HOP = "tumble(INTERVAL '10 minutes')", "hop(INTERVAL '5 minutes', INTERVAL '10 minutes')"
LONG_HOP = "hop(INTERVAL '5 minutes', INTERVAL '20 minutes')"
STARTS = {
    TUMBLE: "[floor(m / 10) * 10]",
    HOP: "[floor(m / 5) * 5 - 5, floor(m / 5) * 5]",
    LONG_HOP: "[floor(m / 5) * 5 - 15, floor(m / 5) * 5 - 10, floor(m / 5) * 5 - 5, floor(m / 5) * 5]",
}
"""For each window the starts of those that a minute is in, as the oracle has it."""


def script(story: Pipeline, names: Sequence[str], window: str = TUMBLE) -> str:
    """Windows with these aggregates, into a file."""
    columns = ", ".join(f"{name} {AGGREGATES[name][1]}" for name in names)
    calls = ", ".join(f"{AGGREGATES[name][0]} AS {name}" for name in names)
    return f"""
        CREATE TABLE rows (start TIMESTAMP, key TEXT, {columns}) WITH (
          connector = 'single_file', path = '{story.folder}/rows', format = 'json', type = 'sink');
        INSERT INTO rows SELECT w.start, key, {", ".join(names)}
        FROM (SELECT {window} AS w, key, {calls} FROM events GROUP BY w, key);
    """


def answers(names: Sequence[str], window: str = TUMBLE) -> dict[tuple[object, ...], dict[str, object]]:
    """The batch answer: by window and key what each aggregate is, and the first epoch that has rows of the window."""
    calls = ", ".join(f"{AGGREGATES[name][0]} AS {name}" for name in names)
    with duckdb.connect() as duck:
        duck.execute("CREATE TABLE events (epoch BIGINT, m DOUBLE, key TEXT, number BIGINT)")
        duck.executemany(
            "INSERT INTO events VALUES (?, ?, ?, ?)",
            [(step, *event) for step in range(STEPS) for event in events_of(step)],
        )
        rows = duck.execute(
            f"WITH w AS (SELECT unnest({STARTS[window]}) AS start, * FROM events), "
            "firsts AS (SELECT start, min(epoch) AS first FROM w GROUP BY start) "
            f"SELECT start, key, any_value(first), {calls} FROM w JOIN firsts USING (start) GROUP BY start, key"
        ).fetchall()
    return {(row[0], row[1]): dict(zip(("first", *names), row[2:], strict=True)) for row in rows}


def written(story: Pipeline) -> list[tuple[tuple[object, ...], dict[str, object]]]:
    """The rows that came out, by window and key, as they came."""
    rows: list[tuple[tuple[object, ...], dict[str, object]]] = []
    file = story.folder / "rows"
    for line in file.read_text().splitlines() if file.exists() else ():
        row = json.loads(line)
        start = datetime.fromisoformat(row.pop("start")).replace(tzinfo=START.tzinfo)
        rows.append((((start - START).total_seconds() / 60, row.pop("key")), row))
    return rows


def check(story: Pipeline, since: Mapping[str, int], window: str = TUMBLE, skip: int = 0) -> int:
    """All rows but the first are right: an aggregate that is there since an epoch is NULL in windows with older rows.
    How many rows there are."""
    expected, rows = answers([*since], window), written(story)
    for key, row in rows[skip:]:
        answer = expected[key]
        wanted = {name: answer[name] if int(str(answer["first"])) >= since[name] else None for name in since}
        assert {name: plain(row[name]) for name in row} == {name: plain(wanted[name]) for name in since}, key
    return len(rows)


def check_all(story: Pipeline, since: Mapping[str, int], window: str = TUMBLE, skip: int = 0) -> None:
    """The same, and every window is there."""
    check(story, since, window, skip)
    assert sorted(key for key, _ in written(story)) == sorted(answers([*since], window))


def plain(value: object) -> object:
    """A number whatever it was written as."""
    if isinstance(value, bool) or value is None:
        return value
    return round(Decimal(str(value)), 4)


def test_a_new_aggregate_is_null_in_open_windows_and_right_in_the_next(pipeline: Pipeline) -> None:
    pipeline.run(script(pipeline, ["n", "lo"]), LAST)

    upgrade(pipeline, script(pipeline, ["s", "n", "c"]))

    change = last_of_old(pipeline) + 1
    check_all(pipeline, {"s": change, "n": 0, "c": change})
    rows = [row for _, row in written(pipeline)]
    assert {row["c"] for row in rows} > {None}
    assert None not in {row["n"] for row in rows}


def test_suppressed_aggregates_stay_suppressed_after_restarts_rescaling_and_restores(pipeline: Pipeline) -> None:
    changed = script(pipeline, ["n", "s"])
    pipeline.run(script(pipeline, ["n"]), LAST)
    upgrade(pipeline, changed, stop_after=LAST + 1)
    since = {"n": 0, "s": last_of_old(pipeline) + 1}
    take(pipeline.paths.root, "sp", label=None, clock=now)

    repartition(pipeline.paths.root, 2, lambda: pipeline.spark)
    replace(pipeline, parallelism=2).run(changed)
    check_all(pipeline, since)
    restore(pipeline.paths.savepoints / "sp", pipeline.paths.root, allow_replay=True)
    pipeline.run(changed)

    check_all(pipeline, since)
    assert {row["s"] for _, row in written(pipeline)} > {None}


@pytest.mark.parametrize(("seed", "window"), [(1, TUMBLE), (2, HOP), (3, TUMBLE), (4, HOP)])
def test_after_random_edits_all_that_is_not_withheld_is_the_batch_answer(
    pipeline: Pipeline, seed: int, window: str
) -> None:
    dice = random.Random(seed)
    names = dice.sample([*AGGREGATES], 4)
    since = dict.fromkeys(names, 0)
    pipeline.run(script(pipeline, names, window), 1)
    rows = check(pipeline, since, window)

    for last in (2, 3, None):
        names = dice.sample([*AGGREGATES], dice.randint(1, 6))
        upgrade(pipeline, script(pipeline, names, window), stop_after=last)
        change = last_of_old(pipeline) + 1
        since = {name: since.get(name, change) for name in names}
        rows = check(pipeline, since, window, skip=rows)

    assert sorted(key for key, _ in written(pipeline)) == sorted(answers(names, window))


def updating(story: Pipeline, names: Sequence[str]) -> str:
    """The same aggregates, by stretches of eight numbers, kept up to date in a file."""
    columns = ", ".join(f"{name} {AGGREGATES[name][1]}" for name in names)
    calls = ", ".join(f"{AGGREGATES[name][0]} AS {name}" for name in names)
    return f"""
        CREATE TABLE groups (g BIGINT, {columns}) WITH (
          connector = 'single_file', path = '{story.folder}/groups', format = 'debezium_json', type = 'sink');
        INSERT INTO groups SELECT number - number % 8 AS g, {calls} FROM events GROUP BY number - number % 8;
    """


def test_keys_of_an_updating_aggregate_get_its_new_form_when_they_change(pipeline: Pipeline) -> None:
    pipeline.run(updating(pipeline, ["n", "lo", "s"]), LAST)
    changed = updating(pipeline, ["hi", "s", "n"])

    upgrade(pipeline, changed, stop_after=LAST + 1)
    change = last_of_old(pipeline) + 1
    repartition(pipeline.paths.root, 2, lambda: pipeline.spark)
    replace(pipeline, parallelism=2).run(changed)

    groups: dict[object, list[tuple[int, int]]] = {}
    for step in range(STEPS):
        for _, _, number in events_of(step):
            groups.setdefault(number - number % 8, []).append((step, number))
    # what a reader has of a key is what came last: a row that is taken back has the columns of the new query
    lines = [json.loads(line)["after"] for line in (pipeline.folder / "groups").read_text().splitlines()]
    rows = {row["g"]: row for row in lines}
    assert rows.keys() == groups.keys()
    for row in rows.values():
        steps, numbers = zip(*groups[row["g"]], strict=True)
        assert (row["n"], row["s"]) == (len(numbers), sum(numbers))
        if max(steps) >= change:
            assert row["hi"] == (max(numbers) if min(steps) >= change else None)
    assert {row.get("hi") for row in rows.values()} > {None}


def test_windows_without_new_aggregates_and_old_savepoints_suppress_nothing(
    pipeline: Pipeline,
) -> None:
    old, new = script(pipeline, ["n", "s", "hi"]), script(pipeline, ["hi", "n"])
    pipeline.run(old, LAST)

    upgrade(pipeline, new, StateUpgrade(savepoint_id="before"), stop_after=LAST + 1)
    assert read_withheld(pipeline.paths.checkpoint) == {}
    upgrade(pipeline, script(pipeline, ["n", "c"]), stop_after=LAST + 1)
    assert read_withheld(pipeline.paths.checkpoint) != {}
    restore(pipeline.paths.savepoints / "before", pipeline.paths.root, allow_replay=True)
    assert read_withheld(pipeline.paths.checkpoint) == {}
    pipeline.run(old)

    check_all(pipeline, {"n": 0, "s": 0, "hi": 0})


@pytest.mark.parametrize("window", [TUMBLE, HOP])
def test_windows_that_are_held_back_give_out_no_row_and_all_others_are_the_batch_answer(
    pipeline: Pipeline, window: str
) -> None:
    old, new = script(pipeline, ["n"], window), script(pipeline, ["s", "n"], window)
    pipeline.run(old, LAST)
    before = len(written(pipeline))
    (name,) = (operator.id for operator in compile_script(pipeline.spec(old).sql).operators)
    plan = compare(compile_script(pipeline.spec(old).sql), compile_script(pipeline.spec(new).sql), hold_back=[name])
    wish = StateUpgrade(hold_back=(name,), accept_loss=plan.id)

    upgrade(pipeline, new, wish, stop_after=LAST + 1)
    change = last_of_old(pipeline) + 1
    take(pipeline.paths.root, "sp", label=None, clock=now)
    restore(pipeline.paths.savepoints / "sp", pipeline.paths.root, allow_replay=True)
    pipeline.run(new)

    expected, rows = answers(["s", "n"], window), written(pipeline)
    later = {key for key, answer in expected.items() if int(str(answer["first"])) >= change}
    held_back = {*expected} - later - {key for key, _ in rows[:before]}
    assert held_back
    assert sorted(key for key, _ in rows[before:]) == sorted(later)
    for key, row in rows[before:]:
        assert {column: plain(row[column]) for column in row} == {
            column: plain(expected[key][column]) for column in ("s", "n")
        }
