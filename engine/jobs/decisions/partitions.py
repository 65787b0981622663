"""What a consumer of partitions is told, decided from what it was told before, how far the output is, and the clock.

    every hour from 03:00; complete until 05:10     closed 03:00, closed 04:00
    complete until 07:20                            closed 05:00, closed 06:00
    a restore voids the certificates from 05:00 on  voided 05:00, voided 06:00
    complete until 06:05, of the new history        closed 05:00
    complete until 08:00                            closed 06:00, closed 07:00
    rows of 05:20 and 05:40 come late               reopened 05:00, to those who want to hear of it

Nothing of it is decided in the background: whoever asks for what is next has it worked out and written down, in one
transaction. What nobody has asked for can be neither missed nor doubled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Literal

from engine.jobs.decisions.gates import GateTime
from engine.jobs.decisions.time_buckets import TimeBuckets
from engine.values.instants import EPOCH

DeliveryKind = Literal["closed", "voided", "reopened"]
"""What is told of a bucket: it is complete; what was told is not true any more; rows came late for it."""
LateMode = Literal["ignore", "reopen"]
"""Whether a consumer is told of buckets again that rows came late for."""
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Consumer:
    """A consumer of a pipeline's complete time buckets, and how far it is. `delivered` is the number of
    the newest delivery, and `acked` that up to which all are done with. `late_seen` is the number of
    the newest late batch that was looked at for it. `closed_until` is where the first bucket begins
    that was not closed yet."""

    id: str
    name: str
    pipeline_id: str
    table: str | None
    by: GateTime
    buckets: TimeBuckets
    start: datetime
    until: datetime | None
    created_at: datetime
    closed_until: datetime
    delivered: int = 0
    acked: int = 0
    late: LateMode = "ignore"
    late_seen: int = 0


@dataclass(frozen=True, slots=True)
class Bucket:
    """A stretch of event time, up to its end."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class LateBatch:
    """The rows that came late in an epoch: for each sink whose rows they would have been in, or that takes them, the
    minutes since 1970, in stretches of which the end is not part. The number is the control plane's."""

    lineage: str
    epoch: int
    sinks: Mapping[str, Sequence[tuple[int, int]]]
    number: int = 0


@dataclass(frozen=True, slots=True)
class Told:
    """Something that a consumer is to be told of a bucket."""

    kind: DeliveryKind
    bucket: Bucket


@dataclass(frozen=True, slots=True)
class History:
    """What of the buckets that a consumer was told of counts now, by their beginnings in order: those that are `void`
    and of which it was not told so, those of which it was, so that they are `open` again, and those that rows came
    `late` for since they were told."""

    void: Sequence[Bucket] = ()
    open: Sequence[Bucket] = ()
    late: Sequence[Bucket] = ()


def next_told(
    consumer: Consumer, history: History, reached: datetime | None, now: datetime, most: int
) -> tuple[Sequence[Told], datetime]:
    """Return the next deliveries for a consumer, and the instant up to which its time buckets are then closed.
    `reached` is how far the output is complete; None if unknown. A bucket is never closed before it has ended by the
    clock, so that neither the end of the input nor a single row of the far future closes all future buckets."""
    voided = [
        *(Told("voided", bucket) for bucket in history.void),
        *(Told("reopened", bucket) for bucket in history.late),
    ]
    if reached is None:
        return voided, consumer.closed_until
    until = min(reached, now)
    open_again = sorted((*history.open, *history.void), key=lambda bucket: bucket.start)
    again = [bucket for bucket in open_again if bucket.end <= until][:most]
    # those that were never closed come after all that were, and end later
    first = list(islice(_closed(consumer, until), most - len(again)))
    closed_until = first[-1].end if first else consumer.closed_until
    return [*voided, *(Told("closed", bucket) for bucket in (*again, *first))], closed_until


def next_end(consumer: Consumer) -> datetime:
    """Return the end of the next time bucket that was never closed."""
    return consumer.buckets.after(consumer.closed_until)


def first_bucket(buckets: TimeBuckets, start: datetime | None, reached: datetime | None, now: datetime) -> datetime:
    """Return the start of a new consumer's first time bucket: the one that holds `start`; by default the oldest
    incomplete one, and at the latest the current one."""
    if start is not None:
        return buckets.holding(start)
    return buckets.holding(now if reached is None else min(reached, now))


def late_epochs(consumer: Consumer, batches: Sequence[LateBatch]) -> Mapping[datetime, int]:
    """The buckets for which rows came late in some batches, of those that were closed, by their beginnings; and the
    newest epoch of these."""
    epochs: dict[datetime, int] = {}
    for batch in batches:
        for sink, stretches in batch.sinks.items():
            for stretch in stretches if consumer.table in (None, sink) else ():
                first, end = (EPOCH + minute * _MINUTE for minute in stretch)
                start = consumer.buckets.holding(max(first, consumer.start))
                while start < min(end, consumer.closed_until):
                    epochs[start] = max(batch.epoch, epochs.get(start, batch.epoch))
                    start = consumer.buckets.after(start)
    return epochs


def _closed(consumer: Consumer, until: datetime) -> Iterator[Bucket]:
    start = consumer.closed_until
    while (end := consumer.buckets.after(start)) <= until and (consumer.until is None or end <= consumer.until):
        yield Bucket(start, end)
        start = end
