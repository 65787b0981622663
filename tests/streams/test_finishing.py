"""A run is stopped between the plan of an epoch and its beginning: the next one runs that epoch, and stays there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.compile import compile_script
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.spark.run.stop_control import Control
from engine.spark.upgrade import hand_over
from tests.streams.play import at, play, read_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = """
CREATE TABLE events (ts TIMESTAMP NOT NULL, key TEXT, WATERMARK FOR ts)
WITH (connector = 'single_file', path = '{folder}/events.json', format = 'json', type = 'source');
CREATE TABLE output (start TIMESTAMP, key TEXT, n BIGINT)
WITH (connector = 'single_file', path = '{folder}/output.json', format = 'json', type = 'sink');
INSERT INTO output SELECT window.start, key, n FROM (
  SELECT tumble(INTERVAL '10 minutes') AS window, key, count(*) AS n FROM events GROUP BY window, key
);
"""
MINUTES = range(200)


class StopsBeforeAnEpoch(Control):
    """Stops a run when an epoch is planned and is to begin."""

    def __init__(self, is_time: Callable[[], bool]) -> None:
        super().__init__()
        self.is_time = is_time

    @property
    def refuses_epochs(self) -> bool:
        if self.is_time():
            self.stop("checkpoint")
        return super().refuses_epochs


def spec_of(folder: Path) -> RunSpec:
    rows = [{"ts": at(minute), "key": f"key{minute % 3}"} for minute in MINUTES]
    (folder / "events.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return RunSpec(
        "events", SQL.format(folder=folder), folder / "state", settings=replace(PLAIN_SETTINGS, max_epoch_rows=20)
    )


def stop_before(
    spark: SparkSession, spec: RunSpec, is_time: Callable[[hand_over.Standing], bool]
) -> hand_over.Standing:
    """Where a run is that was stopped before an epoch, once what is committed says that it is time."""

    def look() -> hand_over.Standing:
        standing = hand_over.standing(spec.state_dir)
        assert standing is not None
        return standing

    def is_now() -> bool:
        return hand_over.standing(spec.state_dir) is not None and is_time(look())

    assert run_in(spark, spec, StopsBeforeAnEpoch(is_now), lambda _: None) == "stopped"
    return look()


def test_epoch_planned_at_a_stop_is_run_and_no_further_one_wherever_it_stops_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    spec = spec_of(tmp_path)
    sources = hand_over.sources_of(compile_script(spec.sql))
    stopped = stop_before(spark, spec, lambda standing: standing.epoch == 2)
    assert (stopped.epoch, stopped.is_settled) == (2, False)

    hand_over.ask(spec.state_dir, hand_over.furthest(sources, stopped.planned))
    assert not hand_over.has_come(sources, spec.state_dir, stopped)
    stays = stop_before(spark, spec, lambda standing: standing.epoch > 2)

    assert (stays.epoch, stays.is_settled) == (3, False), "that it is there was to be said once more"
    assert [end.positions for end in stays.planned] == [end.positions for end in stopped.planned]
    assert hand_over.has_come(sources, spec.state_dir, stays)

    hand_over.release(spec.state_dir)
    assert play(spark, spec)[0] == "finished"
    written = Counter((row["start"], row["key"], row["n"]) for row in read_rows(tmp_path / "output.json"))
    counts = Counter((at(minute - minute % 10)[:19], f"key{minute % 3}") for minute in MINUTES)
    assert written == Counter((start, key, n) for (start, key), n in counts.items())
