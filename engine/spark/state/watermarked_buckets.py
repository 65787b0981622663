"""Shards that emit rows when the watermark moves, even without input.

    shard 5        stores panes; its next window ends at 12:00:04, and has a timer for that
    epoch 8        rows for shard 5, watermark 12:00:03     it advances; the timer stays
    epoch 9        no rows, watermark 12:00:05              the timer fires: it advances, emits the rows of the window,
                                                            and sets a timer for 12:00:06

The watermark is Spark's, which is that of the offsets of the epoch (docs/decisions/windows-close-by-the-plan.md).
Timers are part of the state: they are committed, restored and repartitioned with it.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle
from pyspark.sql.streaming.stateful_processor_api_client import ExpiredTimerIterator, StatefulProcessorApiClient
from pyspark.sql.types import StructType

from engine.spark.map_in_arrow import map_in_arrow
from engine.spark.state.buckets import PACKED, BucketProcessor, Packing, StepsTogether, packer, stepped, unpack

if TYPE_CHECKING:
    from engine.updating.bucket_state import BucketState, StepsResult

_EVENT_TIME = "EventTime"
_MICROS = 1000


class Watermarked(Packing, Protocol):
    """An operator whose shards emit rows when the watermark moves. The `newest` field of their state contains the
    time."""

    def steps(
        self, states: Mapping[int, BucketState], payloads: Mapping[int, Sequence[bytes]], watermark: int
    ) -> StepsResult:
        """Return one epoch of some shards, by their numbers and the watermark in microseconds."""


def run_by_watermark(rows: DataFrame, operator: Watermarked, schema: StructType) -> DataFrame:
    """Return the output rows of the steps of all shards, with the columns of `schema`."""
    packed = map_in_arrow(rows, packer(operator), PACKED)
    steps = _StepsByWatermark(WatermarkedProcessor(operator), _EVENT_TIME)
    return map_in_arrow(stepped(packed, steps, _EVENT_TIME), unpack, schema)


class WatermarkedProcessor(BucketProcessor):
    """Advances a shard when it has rows, and when its timer fires."""

    def __init__(self, operator: Watermarked) -> None:
        super().__init__(operator)

    @cached_property
    def _watermarked(self) -> Watermarked:
        operator: Watermarked = pickle.loads(self._packed)  # noqa: S301 - what `__init__` has packed
        return operator

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        super().init(handle)
        self._client = handle._statefulProcessorApiClient  # noqa: SLF001 - Spark's worker has it, and hands it to nobody else

    def steps_of(self, states: Mapping[int, BucketState], payloads: Mapping[int, Sequence[bytes]]) -> StepsResult:
        """Return one epoch of some shards, by the watermark that Spark reports."""
        _, watermark = self._client.get_timestamps(_EVENT_TIME)
        return self._watermarked.steps(states, payloads, watermark * _MICROS)

    def kept(self, before: Mapping[int, BucketState], after: Mapping[int, BucketState]) -> None:
        """Set the timers: a shard has one at most."""
        timers = {label: (timer_of(state.newest), timer_of(after[label].newest)) for label, state in before.items()}
        self._store.set_timers({label: (old, new) for label, (old, new) in timers.items() if old != new})

    def wake(self, labels: Iterable[int]) -> None:
        """Let these shards step, too, whether they have rows or not."""
        for label in labels:
            self._gathered.setdefault(label, [])


class _StepsByWatermark(StepsTogether):
    """Wakes the shards whose timers have fired. A shard that already advanced because it had many rows has no such
    timer."""

    def __init__(self, processor: WatermarkedProcessor, time_mode: str) -> None:
        super().__init__(processor, time_mode)
        self._woken = processor

    def _handle_expired_timers(self, stateful_processor_api_client: StatefulProcessorApiClient) -> Iterator[Row]:
        _, watermark = stateful_processor_api_client.get_timestamps(_EVENT_TIME)
        self._woken.wake(key[0] for key, _ in ExpiredTimerIterator(stateful_processor_api_client, watermark))
        yield from super()._handle_expired_timers(stateful_processor_api_client)


def timer_of(end: int) -> int | None:
    """Return the timer that expires as soon as a watermark has reached an instant. A watermark is of whole
    milliseconds, and must be later than the timer. None is before 1970, since Spark orders timers by their bytes."""
    from engine.updating.bucket_state import NEVER  # noqa: PLC0415 - only tasks need it
    from engine.updating.panes import END_OF_ALL  # noqa: PLC0415 - only tasks need it

    return max(-(-end // _MICROS) - 1, 0) if NEVER < end < END_OF_ALL else None
