"""What asks Java for state hangs up: Java has as many connections after an epoch as before it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tests.streams.play import play
from tests.updating.test_restarts import spec_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CLOSE_WAIT = "08"


def half_open(spark: SparkSession) -> int:
    """How many connections Java has not closed although their other end is."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    process = Path("/proc") / str(jvm.java.lang.ProcessHandle.current().pid())
    links: set[str] = set()
    for entry in (process / "fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            links.add(str(entry.readlink()))
    rows = [line.split() for kind in ("tcp", "tcp6") for line in (process / "net" / kind).read_text().splitlines()]
    return sum(row[3] == _CLOSE_WAIT and f"socket:[{row[9]}]" in links for row in rows[1:] if row[0] != "sl")


def test_no_connection_stays_open_for_a_task_that_has_ended(spark: SparkSession, tmp_path: Path) -> None:
    before = half_open(spark)

    assert play(spark, spec_of(tmp_path))[0] == "finished"

    assert half_open(spark) <= before
