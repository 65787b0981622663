"""A fork goes on from a savepoint with the state that it holds, into places of its own; the original is not touched."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from engine.checkpoints import savepoints
from engine.checkpoints.restore import restore
from engine.errors import NoStateError
from engine.spark.run import RunSpec
from engine.spark.run_spec import StateUpgrade
from tests.checkpoints.test_carry_over_with_spark import (
    COUNTS,
    EVEN_COUNTS,
    LAST,
    PLAIN,
    Pipeline,
    all_events,
    counts,
    pipeline,
)
from tests.streams.play import play

__all__ = ["pipeline"]
pytestmark = pytest.mark.spark


def forked(story: Pipeline, name: str, sql: str) -> tuple[RunSpec, Pipeline]:
    """A run of a fork that writes into a folder of its own, and that fork."""
    folder = story.folder / name
    folder.mkdir()
    script = story.spec(sql).sql
    for table in ("counts", "plain"):
        script = script.replace(f"'{story.folder}/{table}'", f"'{folder}/{table}'")
    spec = RunSpec(name, script, folder / "state", upgrade=StateUpgrade(is_fork=True))
    return spec, Pipeline(story.spark, folder)


@pytest.mark.parametrize(("name", "sql"), [("same", PLAIN + COUNTS), ("other", EVEN_COUNTS + PLAIN)])
def test_a_fork_has_the_rows_after_the_savepoint_and_all_that_its_windows_knew(
    pipeline: Pipeline, name: str, sql: str
) -> None:
    pipeline.run(PLAIN + COUNTS, LAST)
    manifest = savepoints.take(pipeline.paths.root, "sp_1", label=None, clock=lambda: datetime.now(UTC))
    spec, fork = forked(pipeline, name, sql)

    restore(pipeline.paths.savepoints / "sp_1", spec.state_dir, allow_replay=True, is_fork=True)
    outcome, _ = play(pipeline.spark, spec)

    assert outcome == "finished"
    after = Counter((key, number) for _, key, number in all_events(manifest.epoch + 1))
    assert fork.rows("plain") == after
    expected = counts(all_events())
    assert fork.rows("counts") == Counter(
        row for row in expected.elements() if name == "same" or int(str(row[2])) % 2 == 0
    )

    pipeline.run(PLAIN + COUNTS)
    assert pipeline.rows("counts") == expected
    assert pipeline.rows("plain") == Counter((key, number) for _, key, number in all_events())


def test_a_fork_without_its_savepoint_does_not_begin_with_nothing(pipeline: Pipeline) -> None:
    spec, _ = forked(pipeline, "empty", COUNTS)

    with pytest.raises(NoStateError, match="forked from"):
        play(pipeline.spark, replace(spec))
