"""Run all pushes: one after the other per consumer, and concurrently for several, so that an unreachable Airflow delays
no other.

Push the deliveries of a consumer: one at a time, in order, acknowledged once Airflow has stored the event
(`engine/jobs/decisions/partitions.py` has an example).
"""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from sqlalchemy import Connection

from engine.api.partitions.airflow_events import AirflowEvents, AssetPlace, Environ, StoredEvent
from engine.api.partitions.partition_deliveries import delivery_id, give
from engine.control.context import Context
from engine.control.preview_room import run_behind
from engine.delivery.faults import reach
from engine.errors import (
    EngineError,
    PartitionConsumerDiffersError,
    PartitionConsumerNotFoundError,
    PushBehindError,
    PushUnclearError,
)
from engine.jobs.actors import CONTROL_PLANE
from engine.jobs.decisions.partitions import LONGEST_PAUSE, SETTLING, Chance, Consumer, Doubt, Push, Pushed, key_of
from engine.jobs.decisions.status import JobEvent
from engine.jobs.fault_points import PushPoint
from engine.openlineage.runs import ParentRun
from engine.store import columns
from engine.store.jobs import events
from engine.store.jobs.records import read_record
from engine.store.partitions import partitions, pushes
from engine.store.partitions.partitions import Delivery
from engine.store.pipelines import pipeline_secrets
from engine.values.instants import FAR_FUTURE
from engine.values.secret_references import SECRET_PREFIX

_TOLD_AFTER = 5
"""Number of consecutive failures, about half a minute, before an event of the pipeline reports them."""
OpenAirflow = Callable[[Push, Environ], AirflowEvents]


@dataclass(frozen=True, slots=True)
class _Next:
    """Next delivery to push, its consumer, and its target."""

    consumer: Consumer
    pushed: Pushed
    delivery: Delivery
    was_void: bool
    """Whether its bucket was reported void before."""
    pipeline: str
    run: ParentRun | None
    """Run of its certificate."""


@dataclass(slots=True)
class Pusher:
    """Pushes the deliveries of one consumer. Its memory is only a cache."""

    context: Context
    name: str
    open_airflow: OpenAirflow = AirflowEvents
    chance: Chance = random.random
    _airflow: AirflowEvents | None = None
    _is_sure: bool = False
    """Whether Airflow's events were checked since this process began: the database may be a restored backup."""

    def step(self) -> datetime | None:
        """Push the next delivery. Return None if more may be due immediately; else when to try again, unless the
        pipeline advances before."""
        context = self.context
        with context.database.reading() as connection:
            consumer = partitions.get(connection, self.name)
            pushed = pushes.find(connection, consumer)
            delivery = next(iter(partitions.waiting(connection, consumer, 1)), None)
        if pushed is None:
            return FAR_FUTURE
        now = context.clock()
        if pushed.state.due is not None and now < pushed.state.due <= now + LONGEST_PAUSE:
            return pushed.state.due  # one that is later is of a clock that was set back since
        if delivery is None:
            # later deliveries are not computed before this one is taken: an unreachable Airflow fills no table
            found = give(context, self.name, 1)
            if found.deliveries.data:
                return None
            return found.next_end if found.next_end > context.clock() else FAR_FUTURE
        todo = self._read(consumer, pushed, delivery)
        try:
            return self._push(todo)
        except EngineError as error:
            return self._fail(todo, error)

    def close(self) -> None:
        """Close the connection to Airflow."""
        if self._airflow is not None:
            self._airflow.close()
            self._airflow = None

    def _read(self, consumer: Consumer, pushed: Pushed, delivery: Delivery) -> _Next:
        with self.context.database.reading() as connection:
            was_void = partitions.was_void(connection, consumer, delivery)
            record = read_record(connection, consumer.pipeline_id)
            run = run_behind(connection, self.context.lineage_namespace, record, delivery.certificate)
        return _Next(consumer, pushed, delivery, was_void, record.pipeline.name, run)

    def _push(self, todo: _Next) -> datetime | None:
        delivery, push, state = todo.delivery, todo.pushed.push, todo.pushed.state
        if delivery.kind == "voided" and push.with_keys:
            # an event would start the DAG of the partition: what tells of it is `voided` of the next one
            self._settle(todo, None)
            return None
        if state.doubt is not None and (settled := self._settled(todo, state.doubt)) > self.context.clock():
            return settled
        airflow = self._open(todo)
        place = airflow.place()
        doubt = state.doubt if state.doubt is not None and state.doubt.sequence == delivery.sequence else None
        if (stored := self._stored(todo, airflow, place, doubt)) is not None:
            self._settle(todo, self.context.clock(), stored.id)
            return None
        after = place.newest if doubt is None else doubt.after
        self._write(todo, todo.pushed.doubts(Doubt(delivery.sequence, after, self.context.clock())))
        reach(PushPoint.BEFORE_POST)
        try:
            event = airflow.tell(place, key_of(delivery.bucket.start) if push.with_keys else None, _extra(todo))
        except PushUnclearError:
            # a login may have come before it was posted, and the answer was waited for: it settles from now on
            self._write(todo, todo.pushed.doubts(Doubt(delivery.sequence, after, self.context.clock())))
            raise
        except EngineError:
            self._write(todo, todo.pushed.doubts(None))
            raise
        reach(PushPoint.AFTER_POST)
        self._settle(todo, self.context.clock(), event)
        reach(PushPoint.AFTER_ACK)
        return None

    def _stored(
        self, todo: _Next, airflow: AirflowEvents, place: AssetPlace, doubt: Doubt | None
    ) -> StoredEvent | None:
        """Return the event of the delivery, if there is one: of an uncertain one, or of one that was pushed before the
        database was restored from a backup, which has less than Airflow."""
        if doubt is None and self._is_sure:
            return None
        consumer, delivery, state = todo.consumer, todo.delivery, todo.pushed.state
        after = doubt.after if doubt is not None else state.newest or 0
        since = None if doubt is not None or state.newest is not None else state.pushed_at or consumer.created_at
        stored = airflow.find(place, delivery_id(consumer, delivery.sequence), after, since)
        if stored is not None and (told := _meant(stored.extra)) != _meant(_extra(todo)):
            raise PushBehindError(
                f"Airflow has an event of delivery {delivery.sequence} of {consumer.name!r} that reports {told[1]} as "
                f"{told[0]}: the control plane was restored from a backup, and tells something else now",
                hint=f"look at the newest events of {todo.pushed.push.asset!r}, delete the consumer, and create it "
                "again, with --start where it is to continue",
            )
        self._is_sure = self._is_sure or stored is None
        return stored

    def _settled(self, todo: _Next, doubt: Doubt) -> datetime:
        """Return when an uncertain delivery is settled; counted again if the clock was set back since."""
        now = self.context.clock()
        if doubt.since > now:
            self._write(todo, todo.pushed.doubts(replace(doubt, since=now)))
        return min(doubt.since, now) + SETTLING

    def _open(self, todo: _Next) -> AirflowEvents:
        if self._airflow is None or self._airflow.push != todo.pushed.push:
            self.close()
            self._airflow = self.open_airflow(todo.pushed.push, lambda: self._environ(todo.consumer.pipeline_id))
        return self._airflow

    def _environ(self, pipeline_id: str) -> Mapping[str, str]:
        """Return the secrets of the pipeline, followed by those of the control plane's own environment."""
        with self.context.database.reading() as connection:
            secrets = pipeline_secrets.read(connection, self.context.database.vault, pipeline_id)
        return {**os.environ, **{f"{SECRET_PREFIX}{name}": value for name, value in secrets.items()}}

    def _settle(self, todo: _Next, at: datetime | None, event: int | None = None) -> None:
        """Acknowledge the deliveries that Airflow has stored, or does not need."""
        with self.context.database.writing() as connection:
            consumer = _again(connection, todo)
            if todo.delivery.sequence > consumer.acked:
                partitions.update(connection, replace(consumer, acked=todo.delivery.sequence))
            if todo.pushed.state.failures >= _TOLD_AFTER and at is not None:
                words = f"deliveries of {consumer.name!r} are pushed to {todo.pushed.push.url} again"
                _tell(connection, consumer, at, "info", words)
            pushes.put(connection, consumer, todo.pushed.succeeded(at, event))

    def _write(self, todo: _Next, pushed: Pushed) -> None:
        with self.context.database.writing() as connection:
            pushes.put(connection, _again(connection, todo), pushed)

    def _fail(self, todo: _Next, error: EngineError) -> datetime | None:
        now = self.context.clock()
        words = f"{error.message}; {error.hint}" if error.hint else error.message
        with self.context.database.writing() as connection:
            try:
                consumer = _again(connection, todo)
            except (PartitionConsumerDiffersError, PartitionConsumerNotFoundError):
                return None  # the next look sees what it is now
            stored = pushes.find(connection, consumer) or todo.pushed
            pushed = stored.failed(now, words, error.code, self.chance)
            pushes.put(connection, consumer, pushed)
            if pushed.state.failures == _TOLD_AFTER:
                told = f"deliveries of {consumer.name!r} cannot be pushed: {error.message}"
                _tell(connection, consumer, now, "warn", told, error)
        return pushed.state.due


def _again(connection: Connection, todo: _Next) -> Consumer:
    """Return the current consumer; raise if it, or its push, was replaced."""
    consumer = partitions.get(connection, todo.consumer.name)
    pushed = pushes.find(connection, consumer)
    if consumer.id != todo.consumer.id or pushed is None or pushed.push != todo.pushed.push:
        raise PartitionConsumerDiffersError(f"{consumer.name!r} was changed while a delivery of it was pushed")
    return consumer


def _tell(
    connection: Connection, consumer: Consumer, at: datetime, level: str, words: str, error: EngineError | None = None
) -> None:
    job_id = read_record(connection, consumer.pipeline_id).pipeline.job_id
    code, hint = (None, None) if error is None else (error.code, error.hint)
    events.add(connection, JobEvent(job_id, at, level, words, code, hint, who=CONTROL_PLANE))


def _meant(extra: Mapping[str, object]) -> tuple[object, object]:
    """Return the kind and the key of an event, which say what happened to which time bucket."""
    return extra.get("kind"), extra.get("key")


def _extra(todo: _Next) -> dict[str, object]:
    """Return the content of the event: equal to that of a task that passes time buckets on."""
    consumer, delivery, certificate = todo.consumer, todo.delivery, todo.delivery.certificate
    stands_on = None
    if certificate is not None:
        stands_on = {
            "id": certificate.id,
            "pipeline": certificate.pipeline_id,
            "version": certificate.version,
            "lineage": certificate.lineage,
            "epoch": certificate.epoch,
            "complete_until": certificate.complete_until.isoformat(),
            "offsets": certificate.offsets,
        }
    return {
        "delivery": delivery_id(consumer, delivery.sequence),
        "consumer": consumer.name,
        "consumer_id": consumer.id,
        "sequence": delivery.sequence,
        "kind": delivery.kind,
        "key": key_of(delivery.bucket.start),
        "pipeline": todo.pipeline,
        "start": delivery.bucket.start.isoformat(),
        "end": delivery.bucket.end.isoformat(),
        "certificate": stands_on,
        "openlineage": None if todo.run is None else todo.run.model_dump(mode="json", by_alias=True),
        "voided": delivery.kind == "closed" and todo.was_void,
    }


LOG = logging.getLogger(__name__)
_AT_ONCE = 8
_STEPS = 100
"""Number of deliveries of one consumer before the next consumer's turn."""


@dataclass(slots=True)
class _Followed:
    """A consumer with a push: the change of its pipeline at the last look, and the time of the next."""

    pusher: Pusher
    change: int = -1
    again: datetime | None = None
    is_busy: bool = False
    is_outdated: bool = False
    """Whether its settings have changed meanwhile."""


@dataclass(slots=True)
class PushWatch:
    """Runs pushes on a thread of its own."""

    context: Context
    open_airflow: OpenAirflow = AirflowEvents
    interval: timedelta = timedelta(seconds=1)
    _followed: dict[str, _Followed] = field(default_factory=dict)
    _changed: dict[str, int] = field(default_factory=dict)
    """Newest change of each pipeline."""
    _read_until: int = 0
    _workers: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_AT_ONCE, "push"))
    _is_over: bool = False

    def run(self) -> None:
        """Push deliveries until closed."""
        while not self._is_over:
            try:
                self.look()
            except Exception:
                LOG.exception("an error ends this look at what is pushed; the next one tries again")
            self.context.pushes_changed.wait(self.interval.total_seconds())
            if self.context.pushes_changed.is_set():
                self.context.pushes_changed.clear()
                self._look_again()

    def close(self) -> None:
        """Make `run` return, and wait for the pushes in progress."""
        self._is_over = True
        self.context.pushes_changed.set()
        self._workers.shutdown(cancel_futures=True)
        for followed in self._followed.values():
            followed.pusher.close()

    def look(self) -> None:
        """Start the pushes that may be due."""
        with self.context.database.reading() as connection:
            known = dict(pushes.names(connection))
            news = columns.since(connection, self._read_until) if known else ()
        for each in news:
            self._changed[each.pipeline_id] = self._read_until = each.number
        for name in [name for name, followed in self._followed.items() if name not in known and not followed.is_busy]:
            self._followed.pop(name).pusher.close()
        now = self.context.clock()
        for name, pipeline_id in known.items():
            followed = self._followed.setdefault(name, _Followed(Pusher(self.context, name, self.open_airflow)))
            change = self._changed.get(pipeline_id, 0)
            is_due = followed.again is None or followed.again <= now
            if not followed.is_busy and (is_due or change > followed.change):
                followed.is_busy, followed.change, followed.again = True, change, None
                self._workers.submit(self._work, followed)

    def _work(self, followed: _Followed) -> None:
        try:
            for _ in range(_STEPS):
                followed.again = None if self._is_over else followed.pusher.step()
                if followed.again is not None or self._is_over:
                    break
        except PartitionConsumerNotFoundError:
            followed.again = None
        except Exception:
            LOG.exception("an error ends the push of %r; it is tried again", followed.pusher.name)
            followed.again = self.context.clock() + timedelta(seconds=30)
        finally:
            if followed.is_outdated:
                followed.again, followed.is_outdated = None, False
            followed.is_busy = False

    def _look_again(self) -> None:
        """Discard the times of the next polls, since a consumer was created or changed."""
        for followed in self._followed.values():
            followed.again, followed.is_outdated = None, followed.is_busy
