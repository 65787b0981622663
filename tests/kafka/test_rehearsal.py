"""A rehearsal over a topic that goes on: both queries read up to the same offsets, and the consumer group stays."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.checkpoints import savepoints
from engine.spark.run.stop_control import Control
from engine.spark.upgrade.rehearsal_plan import RehearsalSpec, plan_rehearsal
from engine.spark.upgrade.rehearse import rehearse
from tests.kafka.broker import Broker
from tests.kafka.test_with_spark import EARLIEST, numbers, run_until, spec_of, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.connectors


def test_a_rehearsal_reads_a_topic_and_nobody_is_told(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic()
    broker.produce(topic, *numbers(1, 2, 3))
    spec = spec_of(tmp_path, broker, topic, f"{EARLIEST}, source.group_id = '{topic}'")
    run_until(spark, spec, 3)
    broker.commit(topic, topic, 1)
    savepoints.take_aside(spec.state_dir, tmp_path / "sp_1", lambda: datetime.now(UTC))
    broker.produce(topic, *numbers(4, 5, 6))
    (tmp_path / "scratch").mkdir()

    planned = plan_rehearsal(RehearsalSpec(tmp_path / "sp_1", spec.sql.replace("SELECT n", "SELECT n + n % 2 AS n")))
    report = rehearse(
        planned,
        tmp_path / "scratch",
        lambda: spark,
        Control(),
        on_step=lambda step: broker.produce(topic, *numbers(7)) if "running" in step else None,
    )

    [output] = report.sinks
    assert report.rows_in == {"events": 3}
    assert [(json.loads(row.row), row.is_new) for row in output.examples] == [({"n": 5}, False), ({"n": 6}, True)]
    assert broker.committed(topic, topic) == 1
    assert written(spec) == [1, 2, 3]
