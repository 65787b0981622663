"""Decide the next deliveries to a consumer of time buckets, from earlier deliveries, completeness and the clock.

    every hour from 03:00; complete until 05:10     closed 03:00, closed 04:00
    complete until 07:20                            closed 05:00, closed 06:00
    a restore voids the certificates from 05:00 on  voided 05:00, voided 06:00
    complete until 06:05, of the new history        closed 05:00
    complete until 08:00                            closed 06:00, closed 07:00
    rows of 05:20 and 05:40 come late               reopened 05:00, if the consumer has asked for late rows

Nothing is decided in the background: a request for deliveries computes and stores them in one transaction. So no
delivery can be missed or repeated.

Tell from a stored plan graph whether the late rows of a sink's inputs are stored.

    Write counts <- WindowAggregate <- Scan clicks
    Write late <- LateRows <- Scan clicks             stores those of counts, too, since both read clicks
    Write copy <- Scan orders                         its late rows are unknown

Push deliveries to Airflow: target and progress.

    delivery 12 is next                     the newest event of the asset is 70: 12 is uncertain after 70
    posted, and a response arrives          12 is acknowledged
    posted, and the response is lost        12 is uncertain; after 1 s, 2 s, 4 s, ..., 5 min: any event after 70?
      there is an event 71 of 12            12 is acknowledged
      there is none                         12 is posted again
    not posted: Airflow is unreachable      12 is not uncertain; the same delays

Uncertainty is stored before the post: a control plane that was killed checks before it posts again. So does one whose
database was restored from a backup, and knows events up to 60 while there are some up to 70.

Event time in buckets of one length: every hour, every day of a time zone, every 15 minutes.

    1 hour                          05:00 to 06:00, 06:00 to 07:00, ...
    1 hour, offset 10 minutes       05:10 to 06:10, ...
    1 day in Europe/Berlin          2026-03-28T23:00Z to 2026-03-29T22:00Z, a day of 23 hours, then days of 24 hours
    7 days, offset 4 days           from Monday to Monday: the first day of 1970 was a Thursday

Buckets follow one another without a gap, and each instant is in one of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice
from typing import Literal
from zoneinfo import ZoneInfo

from engine.errors import PartitionError
from engine.jobs.decisions.effects import GateTime
from engine.jobs.decisions.totals import table_of
from engine.values.instants import EPOCH


def takes_late_rows(graph: str | None, table: str | None) -> bool:
    """Whether a table for late rows is declared, for a sink or, with None, for any."""
    content = json.loads(graph or "{}")
    nodes: Mapping[int, Mapping[str, str]] = {node["node_id"]: node for node in content.get("nodes", ())}
    below: dict[int, list[int]] = {}
    for edge in content.get("edges", ()):
        below.setdefault(edge["dest_id"], []).append(edge["src_id"])
    late = [number for number, node in nodes.items() if node["operator"] == "LateRows"]
    if table is None:
        return bool(late)
    sources = {scan for number in late for scan in _scans(number, nodes, below)}
    sinks = [number for number, node in nodes.items() if node["operator"] == "Write" and table_of(node) == table]
    return any(scan in sources for number in sinks for scan in _scans(number, nodes, below))


def _scans(top: int, nodes: Mapping[int, Mapping[str, str]], below: Mapping[int, Sequence[int]]) -> Iterator[str]:
    """Yield the names of the tables that a node reads."""
    todo, seen = [top], set[int]()
    while todo:
        number = todo.pop()
        if number not in seen:
            seen.add(number)
            todo += below.get(number, ())
            if nodes[number]["operator"] == "Scan" and (table := table_of(nodes[number])) is not None:
                yield table


FIRST_PAUSE = timedelta(seconds=1)
LONGEST_PAUSE = timedelta(minutes=5)
SETTLING = timedelta(seconds=20)
"""Time after a post in which Airflow may still store the event; also the timeout of the response."""
Chance = Callable[[], float]
"""Returns random numbers from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Push:
    """An asset in an Airflow, and the login: a user with a password, or a token, both as references to secrets, or
    none. Events with partition keys start partitioned DAGs, those without the others."""

    url: str
    asset: str
    with_keys: bool = True
    username: str | None = None
    password: str | None = None
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Doubt:
    """A delivery that may have become an event of the asset; if so, one after another known event."""

    sequence: int
    after: int
    since: datetime


@dataclass(frozen=True, slots=True)
class PushState:
    """Progress: consecutive failures with the last error, since when, the next attempt, and the last success."""

    failures: int = 0
    error: str | None = None
    error_code: str | None = None
    failing_since: datetime | None = None
    due: datetime | None = None
    pushed_at: datetime | None = None
    doubt: Doubt | None = None
    newest: int | None = None
    """Newest known event of the consumer in the asset; None before the first."""


@dataclass(frozen=True, slots=True)
class Pushed:
    """A consumer's push, and its progress. One that is turned off is remembered, since a delivery may be uncertain when
    it is turned on again."""

    push: Push
    state: PushState = field(default_factory=PushState)
    is_off: bool = False

    def doubts(self, doubt: Doubt | None) -> Pushed:
        """Return the push with `doubt` as its uncertain delivery."""
        return replace(self, state=replace(self.state, doubt=doubt))

    def succeeded(self, at: datetime | None, event: int | None = None) -> Pushed:
        """Record that Airflow has stored the notification as this event; without an instant there was nothing to
        store."""
        state = self.state
        return replace(self, state=PushState(pushed_at=at or state.pushed_at, newest=event or state.newest))

    def failed(self, at: datetime, error: str, code: str, chance: Chance) -> Pushed:
        """Record another failure. The next try waits longer, an uncertain delivery also until it has settled."""
        state, failures = self.state, self.state.failures + 1
        due = at + pause(failures, chance)
        if state.doubt is not None:
            due = max(due, state.doubt.since + SETTLING)
        since = state.failing_since or at
        return replace(
            self,
            state=replace(state, failures=failures, error=error, error_code=code, failing_since=since, due=due),
        )


def pause(failures: int, chance: Chance) -> timedelta:
    """Return the wait after `failures` in a row: doubled each time up to the longest, with jitter."""
    doubled: int = 2 ** min(failures - 1, 20)
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * doubled)
    return longest * (0.5 + chance() / 2)


_SECOND = timedelta(seconds=1)
_DAY = timedelta(days=1)
_LONGEST = timedelta(days=3660)
FIRST = datetime(1900, 1, 1, tzinfo=UTC)
LAST = datetime(9900, 1, 1, tzinfo=UTC)
"""Range of instants that requests may name: there are buckets on both sides."""


@dataclass(frozen=True, slots=True)
class TimeBuckets:
    """Division of event time. Buckets of whole days may be those of a time zone; their `offset` is in its local
    time."""

    every: timedelta
    offset: timedelta = timedelta(0)
    time_zone: str = "UTC"

    def holding(self, instant: datetime) -> datetime:
        """Return the start of the time bucket that contains an instant."""
        if self.time_zone == "UTC":
            return instant - (instant - EPOCH - self.offset) % self.every
        local = instant.astimezone(ZoneInfo(self.time_zone)).replace(tzinfo=UTC)
        number = (local - EPOCH - self.offset) // self.every
        # clocks that are put back show a time twice, and those of a midnight that is left out none
        return next(start for start in map(self._beginning, (number + 1, number, number - 1)) if start <= instant)

    def after(self, start: datetime) -> datetime:
        """Return the end of the time bucket that starts at `start`."""
        if self.time_zone == "UTC":
            return start + self.every
        local = start.astimezone(ZoneInfo(self.time_zone)).replace(tzinfo=UTC)
        number = (local - EPOCH - self.offset) // self.every
        return next(end for end in map(self._beginning, (number, number + 1, number + 2)) if end > start)

    def _beginning(self, number: int) -> datetime:
        clocks = EPOCH + number * self.every + self.offset
        return clocks.replace(tzinfo=ZoneInfo(self.time_zone)).astimezone(UTC)


def check_buckets(buckets: TimeBuckets) -> None:
    """Refuse a division into time buckets that cannot be computed."""
    if not _SECOND <= buckets.every <= _LONGEST or buckets.every % _SECOND:
        raise PartitionError(
            f"a bucket cannot be {buckets.every} long", hint="choose whole seconds, at least one and at most ten years"
        )
    if not timedelta(0) <= buckets.offset < buckets.every or buckets.offset % _SECOND:
        raise PartitionError(
            f"buckets cannot begin {buckets.offset} later",
            hint="choose an offset of whole seconds that is shorter than a bucket",
        )
    if buckets.time_zone == "UTC":
        return
    _zone(buckets.time_zone)
    if buckets.every % _DAY:
        raise PartitionError(
            "only buckets of whole days are divided by the clocks of a time zone",
            hint="leave the time zone out, and use an offset where its hours begin at other minutes",
        )


def check_instant(name: str, instant: datetime) -> None:
    """Refuse an instant without time buckets around it."""
    if not FIRST <= instant < LAST:
        raise PartitionError(f"{name} {instant.isoformat()} is too far away", hint="choose one from 1900 to 9900")


def key_of(start: datetime) -> str:
    """Return the key of a time bucket: its start in UTC, as Airflow's partition mappers read it."""
    return f"{start.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise PartitionError(f"there is no time zone {name!r}", hint="use a name like Europe/Berlin") from error


DeliveryKind = Literal["closed", "voided", "reopened"]
"""Kind of a delivery about a bucket: it is complete, an earlier delivery is void, or late rows have arrived."""
LateMode = Literal["ignore", "reopen"]
"""Whether a consumer gets a delivery for buckets with late rows."""
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Consumer:
    """Consumer of a pipeline's complete time buckets, and its progress. `delivered` is the number of the newest
    delivery, and `acked` that of the newest acknowledged one. `late_seen` is the number of the newest batch of late
    rows that was processed for it. `closed_until` is the start of the first bucket that is not closed."""

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
    """A range of event time."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class LateBatch:
    """Late rows of an epoch: for each sink that would have had them, or that stores them, their minutes since 1970 in
    half-open ranges. The control plane assigns the number."""

    lineage: str
    epoch: int
    sinks: Mapping[str, Sequence[tuple[int, int]]]
    number: int = 0


@dataclass(frozen=True, slots=True)
class Told:
    """A new delivery about a bucket."""

    kind: DeliveryKind
    bucket: Bucket


@dataclass(frozen=True, slots=True)
class History:
    """Relevant deliveries about buckets, by start in order. `void` buckets have no delivery about that, `open` buckets
    were void, with a delivery about it, and `late` buckets have got late rows since."""

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
    # buckets that were never closed follow all closed ones, and end later
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
    """Return the starts of the closed time buckets that got late rows in some batches, and the newest epoch of
    these."""
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
