"""One play: a pipeline over many epochs with a stop on the way, and what was promised and there to be read at each."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from engine.checkpoints.layout import StatePaths
from engine.spark.read.offset_log import read_ends
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.stop_control import Control
from engine.values.epoch_report import EpochReport, SinkProgress
from engine.values.instants import from_micros
from tests.gate.scripts import Script, random_scripts, write_scripts
from tests.gate.shapes import Pipeline
from tests.witness import visible_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from engine.spark.read.planner import Offset

STEPS = 50
"""A play has no more steps; each is an epoch, and a moment."""
POLICIES = (
    "'rolling_policy.file_size' = '400'",
    "'rolling_policy.file_size' = '3000'",
    "'rolling_policy.interval' = '1 day', 'partitioning.time_pattern' = '%H-%M'",
)


@dataclass(frozen=True)
class PlayedRow:
    """A row of a table, the epoch that read it, and the watermark it was measured by."""

    table: str
    partition: str
    epoch: int
    watermark: datetime | None
    content: Mapping[str, object]


@dataclass(frozen=True)
class Play:
    """What there is to judge: the moments are the committed epochs, until the sinks take the next one."""

    pipeline: Pipeline
    folder: Path
    scripts: Mapping[str, Script]
    policies: Mapping[str, str]
    ends: Mapping[int, Mapping[str, Offset]]
    promises: Mapping[int, Mapping[str, SinkProgress]]
    stopped_after: int | None = None
    """The epoch after which it was stopped and started again: idle_time begins anew then."""

    def rows(self) -> list[PlayedRow]:
        """All rows of all tables."""
        return [row for table in self.scripts for row in self._rows_of(table)]

    def _rows_of(self, table: str) -> list[PlayedRow]:
        rows: list[PlayedRow] = []
        for partition in self.pipeline.tables[table]:
            contents = iter([row for step in self.scripts[table] for row in step.rows.get(partition, [])])
            position = 0
            for epoch in sorted(self.ends):
                end = self.ends[epoch].get(table)
                if end is None:
                    continue
                mark = None if end.watermark is None else from_micros(end.watermark)
                until = int(str(end.positions.get(partition, 0)))
                rows += [PlayedRow(table, partition, epoch, mark, next(contents)) for _ in range(position, until)]
                position = until
        return rows

    def seen(self) -> Mapping[str, Mapping[int, Mapping[str, tuple[int, int]]]]:
        """For each sink and epoch what came into sight with it: files, and which bytes of them."""
        parts: dict[str, dict[int, dict[str, tuple[int, int]]]] = defaultdict(lambda: defaultdict(dict))
        for sink in self.pipeline.shapes:
            before: Mapping[str, int] = {}
            for epoch in sorted(self.promises):
                sizes = self._sizes(sink, epoch)
                for name, size in sizes.items():
                    if size != before.get(name, 0):
                        parts[sink][epoch][name] = (before.get(name, 0), size)
                before = sizes
        return parts

    def _sizes(self, sink: str, epoch: int) -> Mapping[str, int]:
        """What a reader could read of a sink after an epoch: the files and their sizes."""
        path = self.folder / "witnessed" / f"{epoch}.json"
        sizes = json.loads(path.read_text()) if path.exists() else visible_files(self.folder)
        return {name: size for name, size in sizes.items() if name.split("/")[0].split(".")[0] == sink}


def play_random(spark: SparkSession, pipeline: Pipeline, folder: Path, seed: int, steps: int) -> Play:
    """Play a pipeline over random input from its start to its end, with a stop on the way."""
    random = Random(seed)
    scripts = random_scripts(random, pipeline, steps)
    write_scripts(folder, scripts)
    rolled = [name for name, shape in pipeline.shapes.items() if shape.promise != "changes" and random.random() < 0.4]
    policies = {name: random.choice(POLICIES) for name in rolled} if seed % 2 else {}
    spec = RunSpec(f"gate{seed}", pipeline.script(folder, policies), folder / "state")
    ends: dict[int, Mapping[str, Offset]] = {}
    promises: dict[int, Mapping[str, SinkProgress]] = {}
    stopped_after = random.randrange(steps)
    stop_after: int | None = stopped_after
    outcome = "stopped"
    while outcome == "stopped":
        control = Control()

        def note(report: EpochReport, control: Control = control, stop_after: int | None = stop_after) -> None:
            checkpoint = StatePaths(folder / "state").checkpoint
            ends[report.epoch] = {end.table: end for end in read_ends(checkpoint, report.epoch)}
            promises[report.epoch] = report.sinks
            if report.epoch == stop_after:
                control.stop("checkpoint")

        outcome = run_in(spark, spec, control, note)
        stop_after = None
    return Play(pipeline, folder, scripts, policies, ends, promises, stopped_after)
