"""What Spark says of an epoch, in our words; without Spark."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from engine.epoch_report import EpochReport, SinkProgress
from engine.plan.completeness import RowPath
from engine.plan.nodes import Tumble
from engine.spark.planner import Offset
from engine.spark.progress import TableCounters, WrittenEpoch, read_progress

AT = datetime(2026, 1, 1, 5, 30, tzinfo=UTC)
SETTLED = datetime(2026, 1, 1, 5, 29, 51, tzinfo=UTC)
END = Offset("clicks", {"p": 7}, {"p": None}, watermark=int(SETTLED.timestamp()) * 1_000_000)
PROGRESS = {
    "batchId": 7,
    "timestamp": "2026-01-01T05:30:00.000Z",
    "durationMs": {"triggerExecution": 2500},
    "eventTime": {"watermark": "2026-01-01T05:29:51.000Z"},
    "sources": [{"numInputRows": 11, "endOffset": json.dumps(END.to_json())}],
}


def report() -> EpochReport:
    counters = TableCounters(dropped=lambda _: 0, rows=lambda _: None)
    paths = {"counts": {RowPath("clicks", (Tumble(timedelta(minutes=1)),))}, "copy": {RowPath("clicks")}}
    written = WrittenEpoch(5, 0, END.watermark, {"copy": [END.watermark and END.watermark - 1_000_000]})
    return read_progress(PROGRESS, {}, written, counters, paths=paths, closes_windows=True)


def test_an_epoch_was_committed_when_its_trigger_was_over_and_not_when_it_began() -> None:
    assert report().at == AT + timedelta(seconds=2.5)
    assert report().at - report().duration == AT


def test_each_sink_is_as_far_as_its_own_plan_and_its_open_files_say() -> None:
    edge, before = SETTLED.replace(second=0), SETTLED - timedelta(seconds=1)

    assert report().sinks == {"counts": SinkProgress(edge, SETTLED), "copy": SinkProgress(before, before)}
