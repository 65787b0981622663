"""Queries that keep the state of their operators in a bucket, and moves of it to and from there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.checkpoints.doctor import examine
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.rescale import repartition
from engine.checkpoints.restore import restore
from engine.checkpoints.savepoints import take, verify
from engine.checkpoints.state_pointer import begun_prefixes, read_pointer
from engine.errors import DamagedSavepointError, StateBucketError, UnreadableStateError
from engine.spark.run.run_spec import PLAIN_SETTINGS, RunSpec
from engine.values.cluster import ClusterSettings
from engine.values.instants import now
from tests.cluster.stores import PASSWORD
from tests.s3.store import Store
from tests.streams.play import play

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = """
CREATE TABLE ticks WITH (
  connector = 'impulse', event_rate = '1000', message_count = '120', event_time_interval = '1 second',
  start_time = '2024-01-01T00:00:00Z'
);
CREATE TABLE windows WITH (connector = 'single_file', path = '{out}', format = 'json', type = 'sink');
INSERT INTO windows SELECT tumble(INTERVAL '10 seconds') AS w, count(*) AS ticks FROM ticks GROUP BY w;
"""
WINDOWS = 12


def spec_of(folder: Path, bucket: Store | None, *, prefix: str = "jobs") -> RunSpec:
    url = None if bucket is None else f"s3://{bucket.bucket}/{prefix}"
    return RunSpec(
        "ticks",
        SQL.format(out=folder / "out.json"),
        folder / "state",
        parallelism=2,
        settings=replace(PLAIN_SETTINGS, max_epoch_rows=10, cluster=ClusterSettings(state_url=url)),
    )


def is_whole(folder: Path) -> bool:
    lines = [json.loads(line) for line in (folder / "out.json").read_text().splitlines()]
    return len(lines) == WINDOWS and {line["ticks"] for line in lines} == {10}


def objects(bucket: Store, prefix: str = "jobs/") -> list[str]:
    found = bucket.client.list_objects_v2(Bucket=bucket.bucket, Prefix=prefix).get("Contents", [])
    return [summary["Key"] for summary in found]


def local_files(folder: Path) -> list[Path]:
    return [path for path in (folder / "state" / "checkpoint" / "state").rglob("*") if path.is_file()]


def test_the_state_is_in_the_bucket_and_nowhere_else(spark: SparkSession, bucket: Store, tmp_path: Path) -> None:
    spec = spec_of(tmp_path, bucket)

    assert play(spark, spec, stop_after=3)[0] == "stopped"
    assert local_files(tmp_path) == []
    assert any(name.endswith(".changelog") for name in objects(bucket))
    assert examine(StatePaths(spec.state_dir)) == []
    assert play(spark, spec)[0] == "finished"

    assert is_whole(tmp_path)
    assert local_files(tmp_path) == []


def test_state_moves_to_a_bucket_to_another_and_back(spark: SparkSession, bucket: Store, tmp_path: Path) -> None:
    paths = StatePaths(tmp_path / "state")

    assert play(spark, spec_of(tmp_path, None), stop_after=2)[0] == "stopped"
    assert local_files(tmp_path) != []
    assert play(spark, spec_of(tmp_path, bucket), stop_after=4)[0] == "stopped"
    assert local_files(tmp_path) == []
    assert play(spark, spec_of(tmp_path, bucket, prefix="others"), stop_after=6)[0] == "stopped"
    assert objects(bucket) == []
    assert objects(bucket, "others/") != []
    assert play(spark, spec_of(tmp_path, None), stop_after=8)[0] == "stopped"
    assert read_pointer(paths.checkpoint) is None
    assert play(spark, spec_of(tmp_path, None))[0] == "finished"

    assert is_whole(tmp_path)


def test_a_directory_that_has_moved_gets_a_prefix_of_its_own(
    spark: SparkSession, bucket: Store, tmp_path: Path
) -> None:
    """The original may be a copy that goes on, so its objects stay."""
    spec = spec_of(tmp_path, bucket)
    assert play(spark, spec, stop_after=3)[0] == "stopped"
    first = set(objects(bucket))
    moved = replace(spec, state_dir=tmp_path / "moved")
    spec.state_dir.rename(moved.state_dir)

    assert play(spark, moved)[0] == "finished"

    assert is_whole(tmp_path)
    assert first < set(objects(bucket))
    assert len(begun_prefixes(StatePaths(moved.state_dir))) == 1


def test_a_savepoint_is_complete_without_the_bucket(spark: SparkSession, bucket: Store, tmp_path: Path) -> None:
    spec = spec_of(tmp_path, bucket)
    assert play(spark, spec, stop_after=3)[0] == "stopped"
    manifest = take(spec.state_dir, "three", label=None, clock=now)
    assert verify(spec.state_dir / "savepoints" / "three") == manifest
    assert any(file.path.endswith(".changelog") for file in manifest.files)
    assert play(spark, spec, stop_after=5)[0] == "stopped"

    restore(spec.state_dir / "savepoints" / "three", spec.state_dir, allow_replay=True)
    assert read_pointer(StatePaths(spec.state_dir).checkpoint) is None
    assert play(spark, spec, stop_after=5)[0] == "stopped"
    assert read_pointer(StatePaths(spec.state_dir).checkpoint) is not None
    restore(spec.state_dir / "savepoints" / "three", spec.state_dir, allow_replay=True)
    assert play(spark, spec_of(tmp_path, None))[0] == "finished"

    assert is_whole(tmp_path)


def test_state_in_a_bucket_is_rescaled(spark: SparkSession, bucket: Store, tmp_path: Path) -> None:
    spec = spec_of(tmp_path, bucket)
    assert play(spark, spec, stop_after=3)[0] == "stopped"

    repartition(spec.state_dir, 3, lambda: spark)

    assert play(spark, replace(spec, parallelism=3))[0] == "finished"
    assert is_whole(tmp_path)
    assert any("/0/2/" in name for name in objects(bucket))


def test_a_savepoint_of_a_state_that_lacks_a_file_fails_by_its_name(
    spark: SparkSession, bucket: Store, tmp_path: Path
) -> None:
    spec = spec_of(tmp_path, bucket)
    assert play(spark, spec, stop_after=3)[0] == "stopped"
    newest = [name for name in objects(bucket) if "/0/1/" in name and name.endswith(".changelog")][-1]
    take(spec.state_dir, "whole", label=None, clock=now)
    bucket.client.delete_object(Bucket=bucket.bucket, Key=newest)

    with pytest.raises(UnreadableStateError, match="operator 0, partition 1 has no changelog or snapshot of version"):
        take(spec.state_dir, "lacking", label=None, clock=now)

    saved = next((spec.state_dir / "savepoints" / "whole").rglob("*.changelog"))
    saved.unlink()
    with pytest.raises(DamagedSavepointError, match=f"{saved.name} is missing"):
        verify(spec.state_dir / "savepoints" / "whole")


def test_a_bucket_that_is_not_there_is_named_before_the_first_epoch(
    spark: SparkSession, bucket: Store, tmp_path: Path
) -> None:
    spec = replace(
        spec_of(tmp_path, None),
        settings=replace(
            spec_of(tmp_path, None).settings, cluster=ClusterSettings(state_url="s3://no-such-bucket/jobs")
        ),
    )

    with pytest.raises(StateBucketError, match=r"no-such-bucket/jobs cannot be used: .*NoSuchBucket"):
        play(spark, spec)


def test_no_key_is_in_what_spark_shows(spark: SparkSession, bucket: Store, tmp_path: Path) -> None:
    spec = spec_of(tmp_path, bucket)

    assert play(spark, spec, stop_after=2)[0] == "stopped"

    assert PASSWORD not in spark.sparkContext.getConf().toDebugString()
    assert PASSWORD not in str(spark.sql("SET").collect())
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in written if PASSWORD.encode() in path.read_bytes()] == []
