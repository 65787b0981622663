"""A savepoint of a running pipeline whose rows change: a new history that begins with it comes to the batch answer."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from engine.checkpoints import savepoints
from engine.checkpoints.restore import restore
from engine.spark.run.lifecycle import run_in
from engine.spark.run.stop_control import Control
from engine.values.epoch_report import EpochReport
from tests.spark.test_updating_queries import folded
from tests.streams.play import play
from tests.updating.test_restarts import QUERY, spec_of
from tests.updating.test_with_spark import batch_answer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = ("n", "keys", "most")


def test_a_new_history_goes_on_from_a_savepoint_of_a_running_one(spark: SparkSession, tmp_path: Path) -> None:
    running = spec_of(tmp_path)

    def save_the_first(report: EpochReport) -> None:
        if report.epoch == 0:
            savepoint = savepoints.take(running.state_dir, "sp_1", label=None, clock=lambda: datetime.now(UTC))
            assert savepoint.epoch < 2

    assert run_in(spark, running, Control(), save_the_first) == "finished"
    manifest = restore(running.state_dir / "savepoints" / "sp_1", running.state_dir, allow_replay=True)
    outcome, reports = play(spark, running)

    assert outcome == "finished"
    assert [report.epoch for report in reports][:1] == [manifest.epoch + 1]
    expected = Counter({json.dumps(dict(zip(COLUMNS, row, strict=True))): n for row, n in batch_answer(QUERY).items()})
    assert folded(tmp_path / "output.json") == expected
