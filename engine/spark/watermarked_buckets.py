"""Buckets that have something to send out when the watermark moves, whether rows come or not.

    bucket 5       keeps panes, of which the next window ends at 12:00:04: a timer for that
    epoch 8        rows of bucket 5, watermark 12:00:03     its step; the timer stays
    epoch 9        no rows of bucket 5, watermark 12:00:05  the timer is over: its step, the rows of the window,
                                                            and a timer for 12:00:06

The watermark is Spark's, which is that of the offsets of the epoch (docs/decisions/windows-close-by-the-plan.md).
Timers are of the state, and are committed, restored and laid out for other tasks with it.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from pyspark import cloudpickle
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import StructType

from engine.spark.bucket_store import BucketStore
from engine.spark.buckets import (
    PACKED,
    Packing,
    hold_open,
    packer,
    read_bucket,
    recent_chunks,
    unpack,
    write_buckets,
)
from engine.spark.map_in_arrow import map_in_arrow

if TYPE_CHECKING:
    from engine.updating.bucket_state import BucketState, StepResult

_MICROS = 1000


class Watermarked(Packing, Protocol):
    """An operator whose buckets send out rows when the watermark moves: in `newest` their state says when."""

    def step(self, state: BucketState, payloads: Sequence[bytes], watermark: int) -> StepResult:
        """One epoch of one bucket, by the watermark in microseconds."""


def run_by_watermark(rows: DataFrame, operator: Watermarked, schema: StructType) -> DataFrame:
    """The rows, with the columns of `schema`, that the steps of all buckets send out."""
    packed = map_in_arrow(rows, packer(operator), PACKED)
    stepped = packed.groupBy("bucket").transformWithState(
        WatermarkedProcessor(operator), outputStructType="payload binary", outputMode="append", timeMode="EventTime"
    )
    return map_in_arrow(stepped, unpack, schema)


class WatermarkedProcessor(StatefulProcessor):
    """Has a bucket step when there are rows for it, and when its timer is over. Rows come first, and take what is over
    with them. It keeps what `BucketProcessor` keeps."""

    def __init__(self, operator: Watermarked) -> None:
        self._packed: bytes = cloudpickle.dumps(operator)  # type: ignore[no-untyped-call]  # no types there

    @cached_property
    def _watermarked(self) -> Watermarked:
        operator: Watermarked = pickle.loads(self._packed)  # noqa: S301 - what `__init__` has packed
        return operator

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state."""
        self._store = BucketStore(handle)
        recent_chunks().begin_round()
        hold_open(handle)
        self._handle = handle

    def handleInputRows(self, key: tuple[int], rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # noqa: N802, N803
        """One step of one bucket."""
        yield from self._step(key[0], [row.payload for row in rows], timerValues, None)

    def handleExpiredTimer(  # noqa: N802 - Spark's name
        self,
        key: tuple[int],
        timerValues: TimerValues,  # noqa: N803 - Spark's name
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803 - Spark's name
    ) -> Iterator[Row]:
        """One step of a bucket without rows."""
        yield from self._step(key[0], [], timerValues, expiredTimerInfo.getExpiryTimeInMs())

    def _step(self, label: int, payloads: Sequence[bytes], times: TimerValues, expired: int | None) -> Iterator[Row]:
        from engine.updating.serialization import to_bytes  # noqa: PLC0415 - only tasks need it

        (head,) = self._store.heads([label])
        stored = read_bucket(self._store, label, head)
        result = self._watermarked.step(stored.state, payloads, times.getCurrentWatermarkInMs() * _MICROS)
        write_buckets(self._store, {label: stored}, {label: result.state})
        self._set_timer(_timer_of(stored.state.newest), _timer_of(result.state.newest), expired)
        if result.out.num_rows:
            yield Row(payload=to_bytes([result.out]))

    def close(self) -> None:
        """There is nothing to close."""

    def _set_timer(self, before: int | None, after: int | None, expired: int | None) -> None:
        """One timer at most; Spark takes one out itself that is over."""
        if after == before:
            return
        if before is not None and before != expired:
            self._handle.deleteTimer(before)
        if after is not None:
            self._handle.registerTimer(after)


def _timer_of(end: int) -> int | None:
    """The timer that is over as soon as a watermark has come to an instant. A watermark is of whole milliseconds, and
    must be later than the timer."""
    from engine.updating.panes import END_OF_ALL  # noqa: PLC0415 - only tasks need it

    return -(-end // _MICROS) - 1 if 0 < end < END_OF_ALL else None
