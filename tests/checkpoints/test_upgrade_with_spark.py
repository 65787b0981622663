"""A run takes over the state of another query by itself: what is kept goes on, and what would be lost is refused."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from engine.changes.compare import compare
from engine.checkpoints import savepoints
from engine.checkpoints.layout import read_json
from engine.checkpoints.lineage import read_lineage
from engine.checkpoints.rescale import repartition
from engine.checkpoints.restore import restore
from engine.compile import compile_script
from engine.errors import EngineError, OtherQueryError, UpgradeRefusedError
from engine.spark.run.run_spec import StateUpgrade
from tests.checkpoints.test_carry_over_with_spark import (
    COUNTS,
    LAST,
    PLAIN,
    SESSIONS,
    TOTALS,
    WINDOWS,
    Pipeline,
    all_events,
    counts,
    pipeline,
    totals,
)
from tests.streams.play import play

__all__ = ["pipeline"]
pytestmark = pytest.mark.spark

SUMS_AND_MEDIANS = WINDOWS.replace("count(*)", "median(number) AS m, sum(number)")
SUMS = f"INSERT INTO counts SELECT w.start, key, n FROM ({SUMS_AND_MEDIANS});"


def upgrade(story: Pipeline, sql: str, wish: StateUpgrade | None = None, stop_after: int | None = None) -> list[int]:
    """Run a query that takes over the state that is there; the epochs that it commits."""
    spec = replace(story.spec(sql), upgrade=wish or StateUpgrade())
    outcome, reports = play(story.spark, spec, stop_after=stop_after)
    assert outcome == ("finished" if stop_after is None else "stopped")
    return [report.epoch for report in reports]


def last_of_old(story: Pipeline) -> int:
    """The last epoch of the query whose state was taken over: the one that was planned when it was stopped."""
    return read_lineage(story.paths.lineage).parents[0][1]


def test_windows_go_on_beside_a_new_branch_and_a_savepoint_leads_back(pipeline: Pipeline) -> None:
    pipeline.run(COUNTS, LAST)

    plan = compile_script(pipeline.spec(COUNTS).sql).fingerprint
    wish = StateUpgrade(savepoint_id="before-2", from_version=1, from_plan=plan)
    upgrade(pipeline, SESSIONS + COUNTS, wish)

    assert pipeline.rows("counts") == counts(all_events())
    first = last_of_old(pipeline) + 1
    assert pipeline.rows("sessions") == Counter(Counter(key for _, key, _ in all_events(first)).items())
    manifest = savepoints.verify(pipeline.paths.savepoints / "before-2")
    assert (manifest.epoch, manifest.origin.version) == (first - 1, 1)

    restore(pipeline.paths.savepoints / "before-2", pipeline.paths.root, allow_replay=True)
    pipeline.run(COUNTS)

    assert pipeline.rows("counts") == counts(all_events())


def test_an_epoch_that_was_begun_is_taken_by_the_new_query(pipeline: Pipeline) -> None:
    pipeline.run(PLAIN + COUNTS, LAST)
    pipeline.uncommit()

    epochs = upgrade(pipeline, COUNTS + SESSIONS + PLAIN)

    assert epochs[0] == LAST
    assert pipeline.rows("plain") == Counter((key, number) for _, key, number in all_events())
    assert pipeline.rows("counts") == counts(all_events())
    assert pipeline.rows("sessions") == Counter(Counter(key for _, key, _ in all_events(LAST)).items())


def test_epoch_that_a_sink_may_have_committed_is_finished_by_the_old_query(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline.run(PLAIN + COUNTS, LAST)
    pipeline.uncommit()
    monkeypatch.setattr("engine.spark.upgrade.take_over.is_begun_for_good", lambda *_: True)

    epochs = upgrade(pipeline, COUNTS + SESSIONS + PLAIN)

    assert epochs[:2] == [LAST, LAST + 1]
    assert pipeline.rows("plain") == Counter((key, number) for _, key, number in all_events())
    assert pipeline.rows("counts") == counts(all_events())
    assert pipeline.rows("sessions") == Counter(Counter(key for _, key, _ in all_events(LAST + 1)).items())


def test_a_query_that_fails_at_an_epoch_is_mended_by_the_next_version(pipeline: Pipeline) -> None:
    broken = COUNTS.replace("w.start, key, n ", "w.start, key, n + CAST(key AS BIGINT) ")
    pipeline.run(COUNTS, LAST)
    upgrade(pipeline, broken, stop_after=LAST + 1)
    with pytest.raises(EngineError):
        pipeline.run(broken)

    upgrade(pipeline, COUNTS)

    assert pipeline.rows("counts") == counts(all_events())


def test_state_that_cannot_be_taken_over_is_refused_and_the_old_query_continues(pipeline: Pipeline) -> None:
    pipeline.run(COUNTS, LAST)
    before = read_json(pipeline.paths.pipeline)

    with pytest.raises(UpgradeRefusedError, match="REFUSED"):
        upgrade(pipeline, SUMS)
    with pytest.raises(OtherQueryError):
        pipeline.run(SUMS)

    assert read_json(pipeline.paths.pipeline) == before
    pipeline.run(COUNTS)
    assert pipeline.rows("counts") == counts(all_events())


def test_a_loss_is_accepted_by_the_plan_that_says_it(pipeline: Pipeline) -> None:
    pipeline.run(COUNTS + PLAIN, LAST)
    programs = [compile_script(pipeline.spec(sql).sql) for sql in (COUNTS + PLAIN, SUMS + PLAIN)]
    (operator,) = programs[0].operators
    plan = compare(*programs, reset=[operator.id])
    assert not plan.loses_nothing

    with pytest.raises(UpgradeRefusedError, match="the loss is not accepted"):
        upgrade(pipeline, SUMS + PLAIN, StateUpgrade(reset=(operator.id,)))
    upgrade(pipeline, SUMS + PLAIN, StateUpgrade(reset=(operator.id,), accept_loss=plan.id))

    assert pipeline.rows("plain") == Counter((key, number) for _, key, number in all_events())
    assert sum(int(str(row[2])) for row in pipeline.rows("counts").elements()) == sum(
        number for _, _, number in all_events(last_of_old(pipeline) + 1)
    )


def test_a_state_that_was_laid_out_for_another_width_is_taken_over(pipeline: Pipeline) -> None:
    pipeline.run(COUNTS + TOTALS, LAST)
    repartition(pipeline.paths.root, 2, lambda: pipeline.spark)

    upgrade(replace(pipeline, parallelism=2), TOTALS + COUNTS + PLAIN)

    assert pipeline.rows("counts") == counts(all_events())
    assert pipeline.folded("totals", "key") == totals(all_events())


def test_a_run_of_the_same_query_takes_over_nothing(pipeline: Pipeline) -> None:
    pipeline.run(COUNTS, LAST)
    history = pipeline.paths.lineage.read_text()

    upgrade(pipeline, COUNTS)

    assert pipeline.paths.lineage.read_text() == history
    assert pipeline.rows("counts") == counts(all_events())
