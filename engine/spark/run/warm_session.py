"""Open and warm up a session before its program is known.

Most of the cost of a first epoch is loading and compiling Java classes. So a tiny pipeline of each kind is run once: a
projection, a window and an updating aggregate, each into a file.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from pyspark.sql import SparkSession

from engine.errors import EngineError
from engine.spark.jvm.session import gateway_of_session, open_session, set_gateway_of_session
from engine.spark.jvm.start import JvmLog, noise_of
from engine.spark.run.lifecycle import run_in
from engine.spark.run.run_spec import PLAIN_SETTINGS, RunSpec
from engine.spark.run.stop_control import Control

LOG = logging.getLogger(__name__)
_WARM_UP = """
CREATE TABLE ticks WITH (
  connector = 'impulse', event_rate = '1000', message_count = '120', event_time_interval = '1 second',
  start_time = '2024-01-01T00:00:00Z'
);
CREATE TABLE rows WITH (connector = 'single_file', path = '{folder}/rows', format = 'json', type = 'sink');
CREATE TABLE windows WITH (connector = 'single_file', path = '{folder}/windows', format = 'json', type = 'sink');
CREATE TABLE totals WITH (connector = 'single_file', path = '{folder}/totals', format = 'debezium_json', type = 'sink');
INSERT INTO rows SELECT counter, counter * 2 AS twice FROM ticks WHERE counter % 3 = 0;
INSERT INTO windows
SELECT counter % 5 AS key, tumble(INTERVAL '10 seconds') AS w, count(*) AS ticks FROM ticks GROUP BY key, w;
INSERT INTO totals SELECT counter % 5 AS key, count(*) AS ticks, sum(counter) AS total FROM ticks GROUP BY key;
"""
_EPOCH_ROWS = 20
TakeOver: TypeAlias = Callable[[Path], SparkSession]
"""Returns the open session, for a run that logs into the given directory."""


@dataclass(frozen=True, slots=True)
class WarmSession:
    """A session with the usual settings, and the directory of its logs so far."""

    spark: SparkSession
    directory: Path

    @staticmethod
    def open(directory: Path, control: Control) -> WarmSession:
        """Start the JVM and Spark, and warm them up until that is stopped."""
        spark = open_session(app_name="spare", log_dir=directory, master="local[1]")
        if control.mode is not None:
            return WarmSession(spark, directory)
        folder = directory / "warm-up"
        folder.mkdir()
        spec = RunSpec(
            "warm-up",
            _WARM_UP.format(folder=folder),
            folder / "state",
            settings=replace(PLAIN_SETTINGS, max_epoch_rows=_EPOCH_ROWS),
            owner="warm-up",
            keeps_state=False,
        )
        try:
            run_in(spark, spec, control)
        except EngineError:
            LOG.exception("the warm-up fails; runs start here all the same")
        shutil.rmtree(folder, ignore_errors=True)
        return WarmSession(spark, directory)

    @property
    def is_alive(self) -> bool:
        """Whether the JVM has not ended."""
        return gateway_of_session().process.poll() is None

    def take_over(self, log_dir: Path) -> SparkSession:
        """Return the session, for a run with that directory of logs."""
        log_dir.mkdir(parents=True, exist_ok=True)
        gateway, log_file = gateway_of_session(), log_dir / "spark.log"
        jvm = self.spark.sparkContext._jvm  # noqa: SLF001 - Spark has no other way to its log
        assert jvm is not None
        jvm.System.setProperty("engine.log.file", str(log_file))
        jvm.org.apache.logging.log4j.LogManager.getContext(False).reconfigure()
        with suppress(OSError):  # on another disk it stays where it is
            os.replace(noise_of(self.directory / "spark.log"), noise_of(log_file))  # noqa: PTH105
        log = JvmLog.of(log_file)
        kills = log.memory_kills if gateway.log is None else gateway.log.memory_kills
        set_gateway_of_session(replace(gateway, log=replace(log, memory_kills=kills)))
        return self.spark
