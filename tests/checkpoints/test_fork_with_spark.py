"""A fork goes on from a savepoint with the state that it holds, into places of its own; the original is not touched."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from engine.checkpoints import savepoints
from engine.checkpoints.lineage_divergence import refuse_gap
from engine.checkpoints.manifest import SavepointManifest
from engine.checkpoints.restore import restore
from engine.errors import NoStateError, SavepointGapError
from engine.spark.run.lifecycle import RunSpec
from engine.spark.run.run_spec import StateUpgrade
from tests.checkpoints.test_carry_over_with_spark import (
    COUNTS,
    EVEN_COUNTS,
    LAST,
    PLAIN,
    Pipeline,
    all_events,
    counts,
    events_of,
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


def test_abandoned_lineage_can_be_restored_as_a_fork_or_from_its_divergence(pipeline: Pipeline) -> None:
    def save(name: str) -> SavepointManifest:
        return savepoints.take(pipeline.paths.root, name, label=None, clock=lambda: datetime.now(UTC))

    def put_back(manifest: SavepointManifest) -> None:
        restore(pipeline.paths.savepoints / manifest.id, pipeline.paths.root, allow_replay=True)

    def check(manifest: SavepointManifest) -> None:
        refuse_gap(pipeline.paths, manifest, lambda: ("counts", "plain"))

    everything = Counter((key, number) for _, key, number in all_events())
    pipeline.run(PLAIN + COUNTS, 1)
    early = save("early")
    pipeline.run(PLAIN + COUNTS, 3)
    left = save("left")
    put_back(early)
    check(left)  # nothing was taken back yet
    pipeline.run(PLAIN + COUNTS, 4)

    check(early)
    with pytest.raises(SavepointGapError, match=rf"epochs {early.epoch + 1} to {left.epoch}, "):
        check(left)
    spec, fork = forked(pipeline, "fork", PLAIN + COUNTS)
    restore(pipeline.paths.savepoints / "left", spec.state_dir, allow_replay=True, is_fork=True)
    assert play(pipeline.spark, spec)[0] == "finished"
    assert fork.rows("plain") == Counter((key, number) for _, key, number in all_events(left.epoch + 1))
    assert fork.rows("counts") == counts(all_events())

    put_back(left)  # as it would be without the check
    pipeline.run(PLAIN + COUNTS)
    missing = {(key, number) for step in range(early.epoch + 1, left.epoch + 1) for _, key, number in events_of(step)}
    assert pipeline.rows("plain") == Counter(row for row in everything.elements() if row not in missing)

    put_back(early)
    pipeline.run(PLAIN + COUNTS)
    assert pipeline.rows("plain") == everything
    assert pipeline.rows("counts") == counts(all_events())


def test_a_fork_without_its_savepoint_does_not_begin_with_nothing(pipeline: Pipeline) -> None:
    spec, _ = forked(pipeline, "empty", COUNTS)

    with pytest.raises(NoStateError, match="forked from"):
        play(pipeline.spark, replace(spec))
