"""Files of state have one sum beside them, Hadoop's, by which a changed byte is found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.errors import EngineError
from engine.spark.run.lifecycle import RunSpec
from tests.streams.play import Step, at, play, read_rows, write_script

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = """
CREATE TABLE events (ts TIMESTAMP NOT NULL, key BIGINT, WATERMARK FOR ts)
WITH (connector = 'scripted', path = '{folder}/script.json');
CREATE TABLE counts (key BIGINT, n BIGINT)
WITH (connector = 'single_file', path = '{folder}/counts.json', format = 'json', type = 'sink');
INSERT INTO counts SELECT key, n FROM (
  SELECT tumble(INTERVAL '1 hour') AS window, key, count(*) AS n FROM events GROUP BY window, key
);
"""
_SUMS = "spark.sql.streaming.checkpoint.fileChecksum.enabled"


def spec(folder: Path) -> RunSpec:
    rows = [[{"ts": at(minute), "key": key} for key in range(3)] for minute in range(8)]
    write_script(folder / "script.json", [Step(timedelta(minutes=now), {"p": part}) for now, part in enumerate(rows)])
    return RunSpec("events", SQL.format(folder=folder), folder / "state")


def changelogs(folder: Path) -> list[Path]:
    return sorted((folder / "state" / "checkpoint" / "state").rglob("*.changelog"))


@contextmanager
def sums_of_sparks(spark: SparkSession) -> Iterator[None]:
    """As earlier versions ran."""
    ours = str(spark.conf.get(_SUMS))
    spark.conf.set(_SUMS, "true")
    try:
        yield
    finally:
        spark.conf.set(_SUMS, ours)


def test_a_state_with_sums_of_sparks_goes_on_without_and_with_them(spark: SparkSession, tmp_path: Path) -> None:
    with sums_of_sparks(spark):
        play(spark, spec(tmp_path), stop_after=1)
    earlier = changelogs(tmp_path)
    play(spark, spec(tmp_path), stop_after=4)
    later = [path for path in changelogs(tmp_path) if path not in earlier]
    with sums_of_sparks(spark):
        outcome, _ = play(spark, spec(tmp_path))

    assert outcome == "finished"
    assert read_rows(tmp_path / "counts.json") == [{"key": key, "n": 8} for key in range(3)]
    assert {path.with_name(f"{path.name}.crc").exists() for path in earlier} == {True}
    assert {path.with_name(f"{path.name}.crc").exists() for path in later} == {False}
    assert {path.with_name(f".{path.name}.crc").exists() for path in later} == {True}


def test_a_changed_byte_of_a_state_is_found(spark: SparkSession, tmp_path: Path) -> None:
    play(spark, spec(tmp_path), stop_after=3)
    path = changelogs(tmp_path)[0]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)

    with pytest.raises(EngineError, match=r"(?i)checksum"):
        play(spark, spec(tmp_path))
