"""When a run has started: not before it has shown that it can work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.errors import UnwritableTargetError
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.stop_control import Control
from engine.values.start_positions import StartStep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCRIPT = """
CREATE TABLE numbers (n BIGINT) WITH (
  connector = 'filesystem', path = '{folder}/in', format = 'json', type = 'source', 'source.watch' = '{watch}'
);
CREATE TABLE out WITH (connector = 'single_file', path = '{folder}/out/rows.json', format = 'json', type = 'sink');
INSERT INTO out SELECT n FROM numbers;
"""


class Story:
    """A run, and what it has said in which order."""

    def __init__(self, spark: SparkSession, folder: Path, watch: str = "true", log_tail: str = "started") -> None:
        self.said: list[str] = []
        self.log_tail = log_tail
        self.control = Control()
        (folder / "in").mkdir(exist_ok=True)
        self.spark = spark
        self.spec = RunSpec("start", SCRIPT.format(folder=folder, watch=watch), folder / "state")

    def note(self, word: str) -> None:
        self.said.append(word)
        if word == self.log_tail:
            self.control.stop("checkpoint")

    def note_step(self, step: StartStep | None) -> None:
        if step is not None:
            self.said.append(step)

    def run(self) -> str:
        return run_in(
            self.spark,
            self.spec,
            self.control,
            lambda report: self.note(f"epoch {report.epoch}"),
            lambda: self.note("started"),
            self.note_step,
        )


def test_a_run_has_started_when_its_input_is_empty_and_its_sinks_answer(spark: SparkSession, tmp_path: Path) -> None:
    # a new query begins with an epoch 0, also over nothing; one that goes on has no epoch without anything to read
    assert Story(spark, tmp_path, log_tail="epoch 0").run() == "stopped"
    written = sorted((tmp_path / "out").iterdir())
    story = Story(spark, tmp_path)

    assert story.run() == "stopped"

    assert story.said == ["planning", "first epoch", "started"]
    assert sorted((tmp_path / "out").iterdir()) == written


def test_a_run_whose_sink_cannot_be_written_has_never_started(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file in the way")
    story = Story(spark, tmp_path)

    with pytest.raises(UnwritableTargetError, match="cannot be written"):
        story.run()

    assert story.said == ["planning", "first epoch"]


def test_a_run_that_has_rows_to_read_has_started_when_they_are_written(spark: SparkSession, tmp_path: Path) -> None:
    story = Story(spark, tmp_path, watch="false")
    (tmp_path / "in" / "a.json").write_text('{"n": 1}\n')

    assert story.run() == "finished"

    assert story.said == ["planning", "first epoch", "epoch 0", "started"]
