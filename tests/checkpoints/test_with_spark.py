"""Savepoints and rescaling against Spark itself: whatever is done in the middle, the output is the same."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from engine.checkpoints import savepoints, spark_log
from engine.checkpoints.claim import StatefulQuery, claim
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.lineage import read_lineage
from engine.checkpoints.rescale import needs_spark, repartition
from engine.checkpoints.restore import restore
from engine.inspection.find import find_damage

pytestmark = pytest.mark.spark

EPOCHS = 14
MIDDLE = 7


class CrashError(Exception):
    """What a sink raises that dies in the middle of an epoch."""


@dataclass(slots=True)
class Life:
    """A query over a folder of files, one file an epoch. `rows` has what it gave out, by epoch."""

    spark: SparkSession
    query: Callable[[DataFrame], DataFrame]
    folder: Path
    paths: StatePaths
    rows: dict[int, list[str]] = field(default_factory=dict)

    def run(self, before_epoch: Callable[[int], None] = lambda _: None) -> None:
        """Run until there is nothing to read."""

        def epoch(frame: DataFrame, number: int) -> None:
            before_epoch(number)
            self.rows[number] = sorted(map(str, frame.collect()))

        claim(self.paths, StatefulQuery("life", "", "f", 1)).release()
        events = (
            self.spark.readStream.schema("at timestamp, key int").option("maxFilesPerTrigger", 1).json(str(self.folder))
        )
        stream = (
            self.query(events.withWatermark("at", "0 seconds"))
            .writeStream.foreachBatch(epoch)
            .option("checkpointLocation", str(self.paths.checkpoint))
            .start()
        )
        try:
            stream.processAllAvailable()
        finally:
            stream.stop()

    @property
    def output(self) -> list[str]:
        """All rows, in whatever epoch they came."""
        return sorted(row for rows in self.rows.values() for row in rows)


def tumble(events: DataFrame) -> DataFrame:
    return events.groupBy(F.window("at", "10 seconds"), "key").count()


def session(events: DataFrame) -> DataFrame:
    return events.groupBy(F.session_window("at", "4 seconds"), "key").agg(F.count("*"), F.max("at"))


def join(events: DataFrame) -> DataFrame:
    left, right = events.select("at", "key"), events.select(F.col("at").alias("then"), F.col("key").alias("other"))
    return left.join(right, F.expr("key = other AND then > at AND then <= at + INTERVAL 3 SECONDS"), "left")


def stateless(events: DataFrame) -> DataFrame:
    return events.select("at", F.col("key") * 2)


STATEFUL = [tumble, session, join]


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fourteen files, out of order and with gaps; the last one ends all windows."""
    folder = tmp_path_factory.mktemp("events")
    for number in range(EPOCHS):
        moments = [number * 4 + (step * 7) % 9 - 3 for step in range(30)] if number < EPOCHS - 1 else [10_000]
        lines = [{"at": datetime.fromtimestamp(max(0, at), UTC).isoformat(), "key": at % 5} for at in moments]
        (folder / f"{number:02}.json").write_text("\n".join(map(json.dumps, lines)))
    return folder


@pytest.fixture(scope="module", autouse=True)
def snapshots(spark: SparkSession) -> Iterator[None]:
    """Let Spark make snapshots of its state within so short a life."""
    spark.conf.set("spark.sql.streaming.stateStore.minDeltasForSnapshot", "3")
    yield
    spark.conf.unset("spark.sql.streaming.stateStore.minDeltasForSnapshot")


@pytest.fixture
def live(spark: SparkSession, events: Path, tmp_path: Path) -> Callable[..., Life]:
    """A query with a state directory of its own."""
    names = iter("abcdefgh")

    def make(query: Callable[[DataFrame], DataFrame]) -> Life:
        return Life(spark, query, events, StatePaths(tmp_path / next(names)))

    return make


def now() -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC)


def take_in_epoch(life: Life, number: int) -> Callable[[int], None]:
    def before(epoch: int) -> None:
        if epoch == number:
            savepoints.take(life.paths.root, "sp_1", label=None, clock=now)

    return before


@pytest.mark.parametrize("query", [*STATEFUL, stateless])
def test_a_savepoint_of_a_running_query_restores_with_identical_remaining_output(
    live: Callable[..., Life], query: Callable[[DataFrame], DataFrame]
) -> None:
    life, second_life = live(query), live(query)
    life.run(take_in_epoch(life, MIDDLE))
    second_life.paths.root.mkdir()

    manifest = restore(life.paths.savepoints / "sp_1", second_life.paths.root, allow_replay=False)
    second_life.run()

    assert manifest.epoch == MIDDLE - 1
    assert query is stateless or any(file.path.endswith(".sst") for file in manifest.files)
    assert second_life.rows == {number: rows for number, rows in life.rows.items() if number >= MIDDLE}


def test_a_savepoint_may_be_taken_from_outside_at_any_moment(live: Callable[..., Life]) -> None:
    life, second_life = live(tumble), live(tumble)
    is_under_way, is_taken = threading.Event(), threading.Event()

    def outside() -> None:
        is_under_way.wait()
        for number in range(20):
            savepoints.take(life.paths.root, f"sp_{number}", label=None, clock=now)
        is_taken.set()

    taker = threading.Thread(target=outside)
    taker.start()
    life.run(lambda number: is_under_way.set() if number == 3 else None)
    taker.join()

    epochs = {manifest.epoch: manifest.id for manifest in savepoints.list_savepoints(life.paths.root)}
    for epoch, savepoint in sorted(epochs.items())[:3]:
        shutil.rmtree(second_life.paths.root, ignore_errors=True)
        second_life.rows.clear()
        restore(life.paths.savepoints / savepoint, second_life.paths.root, allow_replay=False)
        second_life.run()
        # the log of Spark's own file source may be an epoch ahead of the commits, and then two epochs become one
        assert second_life.output == sorted(row for number, rows in life.rows.items() if number > epoch for row in rows)


@pytest.mark.parametrize("query", STATEFUL)
def test_rescaling_from_one_to_two_to_three_changes_nothing_in_the_output(
    live: Callable[..., Life], query: Callable[[DataFrame], DataFrame], spark: SparkSession
) -> None:
    straight, rescaled = live(query), live(query)
    straight.run()

    for parallelism, stop_at in ((2, 5), (3, 10)):
        with pytest.raises(Exception, match="CrashError"):
            rescaled.run(crash_at(stop_at))
        assert needs_spark(rescaled.paths.root, parallelism)
        repartition(rescaled.paths.root, parallelism, lambda: spark)
    rescaled.run()

    assert rescaled.output == straight.output
    newest = spark_log.newest_commit(rescaled.paths.checkpoint)
    assert newest is not None
    assert spark_log.read_planned(rescaled.paths.checkpoint, newest).parallelism == 3
    assert len(read_lineage(rescaled.paths.lineage).parents) == 2


def test_rescaling_after_a_clean_end_stays_in_the_same_history(live: Callable[..., Life], spark: SparkSession) -> None:
    life = live(tumble)
    life.run()
    before = read_lineage(life.paths.lineage)

    repartition(life.paths.root, 2, lambda: spark)
    assert find_damage(life.paths.root, reads_rows=True) == []
    life.run()
    assert find_damage(life.paths.root, reads_rows=True) == []

    assert read_lineage(life.paths.lineage) == before
    assert not needs_spark(life.paths.root, 2)


def test_an_epoch_that_was_under_way_covers_the_same_range_after_rescaling(
    live: Callable[..., Life], spark: SparkSession
) -> None:
    life = live(tumble)
    with pytest.raises(Exception, match="CrashError"):
        life.run(lambda number: crash(number == 5))
    before = spark_log.read_planned(life.paths.checkpoint, 5)

    repartition(life.paths.root, 2, lambda: spark)

    after = spark_log.read_planned(life.paths.checkpoint, 6)
    assert (after.sources, after.watermark, after.parallelism) == (before.sources, before.watermark, 2)


def test_a_stateless_pipeline_is_rescaled_without_spark(live: Callable[..., Life]) -> None:
    life = live(stateless)
    life.run()

    repartition(life.paths.root, 4, never)

    assert json.loads(life.paths.pipeline.read_text())["parallelism"] == 4


def test_a_savepoint_can_be_rescaled(live: Callable[..., Life], spark: SparkSession) -> None:
    life, second_life = live(session), live(session)
    life.run(take_in_epoch(life, MIDDLE))
    restore(life.paths.savepoints / "sp_1", second_life.paths.root, allow_replay=False)

    repartition(second_life.paths.root, 2, lambda: spark)
    second_life.run()

    remaining = sorted(row for number, rows in life.rows.items() if number >= MIDDLE for row in rows)
    assert second_life.output == remaining


def crash(now: bool) -> None:
    if now:
        raise CrashError


def crash_at(epoch: int) -> Callable[[int], None]:
    return lambda number: crash(number == epoch)


def never() -> SparkSession:
    raise AssertionError("Spark was asked for")
