"""Windows that are kept by pane, whose query is changed in the middle of its input."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from engine.changes.compare import compare
from engine.changes.verdict import Change
from engine.checkpoints.doctor import drill
from engine.checkpoints.forms import read_form, read_panes, write_panes
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.rescale import repartition
from engine.checkpoints.restore import restore
from engine.checkpoints.running_query import RunningQuery, compile_running, query_of_state
from engine.checkpoints.savepoints import take
from engine.compile import compile_script
from engine.errors import UnreadableStateError
from engine.inspection.rows import is_kept_by_spark, operator_named, rows_of_buckets
from engine.spark.run.run_spec import RunSpec, StateUpgrade
from engine.values.instants import now
from tests.checkpoints.test_carry_over_with_spark import LAST, STEPS, Pipeline, events_of, pipeline
from tests.checkpoints.test_migrated_states import AGGREGATES, LONG_HOP, answers, check, written
from tests.checkpoints.test_migrated_states import script as script_of
from tests.checkpoints.test_upgrade_with_spark import last_of_old, upgrade

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from engine.plan.state.operators import Operator

__all__ = ["pipeline"]
FIT = ["n", "c", "s", "lo", "hi"]
"""Of the aggregates those that are kept by pane."""
DAMAGED = ["{", "[]", '{"format": 2, "operators": [0]}', '{"format": 1, "operators": ["0"]}', '{"format": 1}']


@dataclass
class InPanes(Pipeline):
    """A pipeline that keeps windows by pane where it can."""

    def spec(self, sql: str) -> RunSpec:
        return replace(super().spec(sql), settings=replace(super().spec(sql).settings, by_pane=True))

    @staticmethod
    def of(story: Pipeline) -> InPanes:
        """The same pipeline so."""
        return InPanes(story.spark, story.folder)


def operators_of(story: Pipeline) -> Sequence[Operator]:
    """Those of the query that the state is of."""
    return compile_running(query_of_state(story.paths.root)).operators


def script(story: Pipeline, names: Sequence[str]) -> str:
    return script_of(story, names, LONG_HOP)


def windows() -> dict[tuple[object, ...], list[tuple[int, int]]]:
    """By window and key, of each of its rows the epoch and the number."""
    found: dict[tuple[object, ...], list[tuple[int, int]]] = defaultdict(list)
    for step in range(STEPS):
        for minute, key, number in events_of(step):
            for start in range(int(minute // 5 * 5) - 15, int(minute // 5 * 5) + 1, 5):
                found[start, key].append((step, number))
    return found


def expected(change: int) -> dict[tuple[object, ...], dict[str, object]]:
    """The rows of all windows: of those with older rows it is not known what the sum is."""
    rows = windows()
    firsts: dict[object, int] = {}
    for (start, _), members in rows.items():
        firsts[start] = min([firsts.get(start, STEPS), *(step for step, _ in members)])
    return {
        key: {"s": None if firsts[key[0]] < change else sum(number for _, number in members), "n": len(members)}
        for key, members in rows.items()
    }


def test_panes_go_on_with_other_aggregates_through_restarts_another_width_and_a_restore(pipeline: Pipeline) -> None:
    story = InPanes.of(pipeline)
    story.run(script(story, ["n", "lo"]), LAST)
    rows = list(rows_of_buckets(story.paths, operators_of(story)[0]))
    changed = script(story, ["s", "n"])
    before = len(written(story))

    upgrade(story, changed, stop_after=LAST + 1)
    change = last_of_old(story) + 1
    take(story.paths.root, "sp", label=None, clock=now)
    drilled = drill(story.paths.savepoints / "sp", story.folder / "drill", lambda: story.spark)
    repartition(story.paths.root, 2, lambda: story.spark)
    InPanes(story.spark, story.folder, parallelism=2).run(changed)
    ends = [written(story)]
    restore(story.paths.savepoints / "sp", story.paths.root, allow_replay=True)
    story.run(changed)
    ends.append(written(story))

    assert drilled.operators == 1
    assert {tuple(row.columns) for row in rows} == {("pane", "key", "count(*)", "min(number)")}
    assert sum(int(str(row.columns["count(*)"])) for row in rows) > 0
    assert read_panes(story.paths.checkpoint) == {0}
    answers = expected(change)
    for end in ends:
        assert sorted(key for key, _ in end) == sorted(answers)
        assert dict(end[before:]) == {key: answers[key] for key, _ in end[before:]}
        assert {row["s"] for _, row in end[before:]} > {None}


def test_open_windows_are_held_back_and_a_new_branch_begins_as_the_setting_says(pipeline: Pipeline) -> None:
    story = InPanes.of(pipeline)
    story.run(script(story, ["n"]), LAST)
    before = len(written(story))
    (name,) = (operator.id for operator in operators_of(story))
    other = "INSERT INTO sessions SELECT key, count(*) FROM events GROUP BY session(INTERVAL '99 minutes'), key;"

    changed = story.spec(script(story, ["s", "n"]) + other).sql
    plan = compare(compile_running(query_of_state(story.paths.root)), compile_script(changed), hold_back=[name])

    upgrade(story, script(story, ["s", "n"]) + other, StateUpgrade(hold_back=(name,), accept_loss=plan.id))

    answers = {key: row for key, row in expected(last_of_old(story) + 1).items() if row["s"] is not None}
    assert dict(written(story)[before:]) == answers != {}
    assert read_panes(story.paths.checkpoint) == {0}
    assert read_form(story.paths.checkpoint, 1).name == "sessionWindowStateStoreSaveExec"


@pytest.mark.parametrize("seed", [1, 2])
def test_after_random_edits_all_that_is_not_withheld_is_the_batch_answer_by_pane_or_not(
    pipeline: Pipeline, seed: int
) -> None:
    story, dice = InPanes.of(pipeline), random.Random(seed)
    since = dict.fromkeys(names := dice.sample(FIT, 3), 0)
    story.run(script(story, names), 1)
    rows = check(story, since, LONG_HOP)

    for last, possible in ((2, FIT), (3, [*AGGREGATES]), (4, [*AGGREGATES]), (None, FIT)):
        names = dice.sample(possible, 4)
        upgrade(story, script(story, names), stop_after=last)
        # from the first aggregate on that cannot be kept so
        has_left = not {*names} <= {*FIT} or (last is None)
        assert read_panes(story.paths.checkpoint) == (set() if has_left else {0})
        change = last_of_old(story) + 1
        since = {name: since.get(name, change) for name in names}
        rows = check(story, since, LONG_HOP, skip=rows)

    assert sorted(key for key, _ in written(story)) == sorted(answers(names, LONG_HOP))


SQL = """
CREATE TABLE events (ts TIMESTAMP NOT NULL, key {key}, number {number}, WATERMARK FOR ts)
WITH (connector = 'single_file', path = '/events', format = 'json', type = 'source');
CREATE TABLE rows WITH (connector = 'blackhole');
INSERT INTO rows SELECT hop(INTERVAL '1 minute', INTERVAL '5 minutes') AS w, key, {calls} FROM events GROUP BY w, key;
"""


@pytest.mark.unit
@pytest.mark.parametrize(
    ("changed", "verdict", "reason"),
    [
        ({}, Change.SAME, ""),
        ({"calls": "max(key), sum(number)"}, Change.STATE_MIGRATED, "+ max(key)"),
        ({"calls": "sum(number)"}, Change.STATE_MIGRATED, "- count(*)"),
        ({"calls": "sum(number), avg(number)"}, Change.STATE_MIGRATED, "no longer kept by pane"),
        ({"calls": "sum(number), median(number)"}, Change.REFUSED, "median(number) cannot be moved yet: --reset"),
        ({"key": "BIGINT"}, Change.STATE_MIGRATED, "key INT becomes key BIGINT"),
        ({"number": "BIGINT"}, Change.STATE_MIGRATED, "sum(CAST(number AS BIGINT)) becomes sum(number)"),
        ({"key": "BIGINT", "calls": "count(*), stddev(number)"}, Change.STATE_MIGRATED, "no longer kept by pane"),
    ],
)
def test_a_plan_says_what_becomes_of_panes_before_anything_stops(
    tmp_path: Path, changed: dict[str, str], verdict: Change, reason: str
) -> None:
    parts = {"key": "INT", "number": "INT", "calls": "count(*), sum(number)"}
    sql = SQL.format(**parts)
    write_panes(StatePaths(tmp_path).checkpoint, {0})
    before = compile_running(RunningQuery(sql, compile_script(sql).fingerprint, 1, tmp_path))

    plan = compare(before, compile_script(SQL.format(**{**parts, **changed})))

    (told,) = (verdict for verdict in plan.verdicts if verdict.subject == "operator")
    assert told.change is verdict
    assert reason in told.reason
    assert not is_kept_by_spark(operator_named(before, "0"))


@pytest.mark.unit
@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_list_of_panes_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "panes.json").write_text(content)
    with pytest.raises(UnreadableStateError):
        read_panes(tmp_path)
