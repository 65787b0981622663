"""Consumers of time buckets in the control plane in memory.

plane.add("orders", behind=timedelta(minutes=5))
hours = plane.consume("hours", "orders", every="1 hour")   or a DAG under test creates it
hours.void(datetime(2026, 1, 1, 3, tzinfo=UTC))            like a restore: buckets from there on are void
hours.reopen(datetime(2026, 1, 1, 3, tzinfo=UTC))          like a late row of this hour

Moves in the control plane in memory, at both ends. Background work is done at the second poll.

A clock that a test controls.

clock = TurnableClock(datetime(2026, 1, 1, tzinfo=UTC))
clock.after(timedelta(minutes=10), lambda: pipeline.become("Failed"))
clock.turn(timedelta(hours=1))      the pipeline has failed at 00:10, and it is 01:00
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow_provider_arroyo.responses import to_micros

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
_DEFAULTS = {
    "table": None,
    "by": "input",
    "time_zone": "UTC",
    "offset": "0 seconds",
    "start": None,
    "until": None,
    "late": None,
    "push": None,
}


@dataclass
class FakeDelivery:
    """A delivery about the bucket that begins at `start`."""

    sequence: int
    kind: str
    start: datetime
    at: datetime
    is_void: bool = False


@dataclass
class FakeConsumer:
    """Consumer of a pipeline's buckets in UTC. It gets deliveries when it polls, as from a real control plane."""

    id: str
    name: str
    pipeline_id: str
    pipeline: str
    body: dict[str, Any]
    closed_until: datetime
    created_at: datetime
    acked: int = 0
    deliveries: list[FakeDelivery] = field(default_factory=list)
    begin: datetime = field(init=False)

    def __post_init__(self) -> None:
        self.begin = self.closed_until

    @property
    def every(self) -> timedelta:
        """Return the length of a time bucket."""
        return _duration(self.body["every"])

    @property
    def due(self) -> datetime:
        """Return the end of the next time bucket to deliver."""
        return min(self._reopened(), default=self.closed_until) + self.every

    @property
    def waiting(self) -> list[FakeDelivery]:
        """Return the deliveries that were not acknowledged, without those that became void before."""
        new = [told for told in self.deliveries if told.sequence > self.acked]
        return [told for told in new if told.kind == "voided" or not told.is_void]

    def void(self, since: datetime) -> None:
        """Void the deliveries from this time bucket on; they are closed again when they are complete again."""
        for told in list(self.deliveries):
            if told.kind != "voided" and not told.is_void and told.start >= since:
                told.is_void = True
                self._tell("voided", told.start, told.at)

    def reopen(self, start: datetime) -> None:
        """Report late rows for the time bucket that starts there: a consumer of late rows gets it again, if it was
        closed."""
        told = {told.start: told for told in self.deliveries}.get(start)
        if self.body["late"] == "reopen" and told is not None and told.kind != "voided":
            self._tell("reopened", start, told.at)

    def close(self, complete_until: datetime | None, now: datetime) -> None:
        """Deliver all complete time buckets that have ended by the clock."""
        if complete_until is None:
            return
        until = min(complete_until, now)
        last = self.body["until"] and _instant(self.body["until"])
        for start in sorted(self._reopened()):
            if start + self.every <= until:
                self._tell("closed", start, now)
        while (end := self.closed_until + self.every) <= until and (not last or end <= last):
            self._tell("closed", self.closed_until, now)
            self.closed_until = end

    def to_json(self) -> dict[str, Any]:
        """Return the consumer as the control plane reports it."""
        names = ("table", "by", "time_zone")
        return {
            "id": self.id,
            "name": self.name,
            "pipeline_id": self.pipeline_id,
            "pipeline": self.pipeline,
            **{name: self.body[name] for name in names},
            "every_micros": self.every // timedelta(microseconds=1),
            "offset_micros": _duration(self.body["offset"]) // timedelta(microseconds=1),
            "start": to_micros(self.begin),
            "until": self.body["until"] and to_micros(_instant(self.body["until"])),
            "created_at": to_micros(self.created_at),
            "delivered": len(self.deliveries),
            "acked": self.acked,
            "closed_until": to_micros(self.closed_until),
            "push": self.body["push"],
        }

    def told(self, delivery: FakeDelivery) -> dict[str, Any]:
        """Return a delivery as the control plane reports it."""
        key = f"{delivery.start:%Y-%m-%dT%H:%M:%S}"
        end = delivery.start + self.every
        certificate = {
            "id": f"gate_{self.id}_{delivery.sequence}",
            "pipeline_id": self.pipeline_id,
            "version": 1,
            "lineage": "1f",
            "epoch": 7,
            "complete_until": to_micros(end),
            "dag_id": "partitions",
            "run_id": f"{self.name}/{key}",
            "offsets": {"events": {"0": 12}},
        }
        return {
            "id": f"{self.id}-{delivery.sequence}",
            "sequence": delivery.sequence,
            "kind": delivery.kind,
            "key": key,
            "start": to_micros(delivery.start),
            "end": to_micros(end),
            "at": to_micros(delivery.at),
            "certificate": certificate,
        }

    def _tell(self, kind: str, start: datetime, at: datetime) -> None:
        self.deliveries.append(FakeDelivery(len(self.deliveries) + 1, kind, start, at))

    def _reopened(self) -> set[datetime]:
        """Return the time buckets that were voided, and not closed since."""
        newest = {told.start: told.kind for told in self.deliveries}
        return {start for start, kind in newest.items() if kind == "voided"}


def new_consumer(
    number: int,
    name: str,
    pipeline: tuple[str, str],
    body: dict[str, Any],
    *,
    complete_until: datetime | None,
    now: datetime,
) -> FakeConsumer:
    """Return the consumer that such a request creates. `pipeline` is the id and the name of its pipeline."""
    whole = full(body)
    if whole["time_zone"] != "UTC":
        raise ValueError("a control plane in memory divides by UTC only; try this with a real one")
    every, offset = _duration(whole["every"]), _duration(whole["offset"])
    begin = _instant(whole["start"]) if whole["start"] else min(complete_until or now, now)
    start = begin - (begin - _EPOCH - offset) % every
    return FakeConsumer(f"part_{number}", name, *pipeline, whole, start, now)


def differs(consumer: FakeConsumer, body: dict[str, Any]) -> bool:
    """Whether a request for a consumer of this name has other settings."""
    wanted = full(body)
    begin = consumer.begin if wanted["start"] is None else _instant(wanted["start"])
    return (
        wanted["pipeline"] not in (consumer.pipeline, consumer.pipeline_id)
        or any(wanted[name] != consumer.body[name] for name in ("table", "by", "time_zone", "until"))
        or any(_duration(wanted[name]) != _duration(consumer.body[name]) for name in ("every", "offset"))
        or not consumer.begin <= begin < consumer.begin + consumer.every
    )


def full(body: dict[str, Any]) -> dict[str, Any]:
    """Return a request with its defaults filled in."""
    return _DEFAULTS | body


def _duration(text: str) -> timedelta:
    parts = re.findall(r"(\d+)\s*([a-z]+?)s?\b", text)
    if not parts or any(unit not in _UNITS for _, unit in parts):
        raise ValueError(f"{text!r} is no length that a control plane in memory knows, such as '1 hour'")
    return sum((int(count) * _UNITS[unit] for count, unit in parts), timedelta())


def _instant(value: int | str) -> datetime:
    if isinstance(value, int):
        return _EPOCH + timedelta(microseconds=value)
    instant = datetime.fromisoformat(value)
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


KEY = "the-key-of-a-move"
_NEXT = {"release": "released", "over": "over"}


@dataclass
class FakeMoves:
    """Departing and arriving pipelines of a control plane, by id."""

    departures: dict[str, dict[str, Any]] = field(default_factory=dict)
    arrivals: dict[str, dict[str, Any]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    """Reasons why an `export` or `import` fails."""

    def depart(
        self, method: str, action: list[str], pipeline: Any, body: Any, *, is_dry: bool
    ) -> dict[str, Any] | None:
        """Answer a request about a pipeline's export; None if there is nothing to answer."""
        known = self.departures.get(pipeline.id)
        match method, action:
            case "GET", []:
                return {"data": [] if known is None else [known], "has_more": False, "hasMore": False}
            case "POST", []:
                passport = {"pipeline_id": pipeline.id, "name": pipeline.name, "runs": pipeline.stop == "none"}
                fresh = {"step": "leaving", **body, "passport": passport, "key": None, "task": None}
                if not is_dry:
                    self.departures[pipeline.id] = fresh
                    pipeline.stop = "checkpoint"
                    pipeline.become("Stopped")
                return fresh
            case "DELETE", [] if known is not None:
                del self.departures[pipeline.id]
                pipeline.stop = "none"
                pipeline.become("Running")
                return {}
            case "POST", ["export"] if known is not None:
                if known["step"] == "leaving":
                    self._work(known, "export", "exported")
                return known
            case "POST", ["release" | "over" as step] if known is not None:
                known |= {"step": _NEXT[step], "key": KEY}
                return known
        return None

    def arrive(self, method: str, rest: list[str], body: Any) -> dict[str, Any] | None:
        """Answer a request about an import; None if there is nothing to answer."""
        match method, rest:
            case "POST", ["check"]:
                return {"targets": []}
            case "POST", []:
                passport = body["passport"]
                fresh = {"pipeline_id": passport["pipeline_id"], "name": passport["name"], "step": None, "is_up": False}
                known = self.arrivals.setdefault(passport["pipeline_id"], fresh | {"task": None, "state": None})
                if known["step"] is None:
                    self._work(known, "import", "arrived")
                return known
            case "GET", [pipeline]:
                return self.arrivals.get(pipeline)
            case "DELETE", [pipeline]:
                self.arrivals.pop(pipeline, None)
                return {}
            case "POST", [pipeline, "start"] if pipeline in self.arrivals and body["key"] == KEY:
                self.arrivals[pipeline] |= {"step": "started", "state": "Running", "is_up": True}
                return self.arrivals[pipeline]
        return None

    def _work(self, known: dict[str, Any], kind: str, step: str) -> None:
        if known["task"] is None:
            known["task"] = {"state": "running", "message": None}
        elif kind in self.failures:
            known["task"] = {"state": "failed", "message": self.failures[kind]}
        else:
            known |= {"step": step, "task": {"state": "done", "message": None}}


@dataclass
class TurnableClock:
    """Stands still until it is turned. Scheduled actions then happen in order, each at its time."""

    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    _agenda: list[tuple[datetime, int, Callable[[], object]]] = field(default_factory=list)
    _count: int = 0

    def __post_init__(self) -> None:
        if self.now.tzinfo is None:
            raise ValueError(f"a clock needs a time with a zone, such as {self.now.isoformat()}Z")

    def at(self, instant: datetime, action: Callable[[], object]) -> None:
        """Run something when the clock reaches this instant; at its next turn if that has passed."""
        if instant.tzinfo is None:
            raise ValueError(f"an instant needs a zone, such as {instant.isoformat()}Z")
        self._count += 1
        self._agenda.append((instant, self._count, action))

    def after(self, length: timedelta, action: Callable[[], object]) -> None:
        """Run something after the clock was turned this far."""
        self.at(self.now + length, action)

    def turn_towards(self, instant: datetime) -> None:
        """Advance the time until then, but no further than to the next scheduled action."""
        following = min((entry[0] for entry in self._agenda), default=instant)
        self.turn(max(timedelta(0), min(instant, following) - self.now))

    def turn(self, length: timedelta) -> None:
        """Advance the time by this much."""
        if length < timedelta(0):
            raise ValueError(f"a clock is not turned back, and {length} is negative")
        end = self.now + length
        while due := [entry for entry in self._agenda if entry[0] <= end]:
            entry = min(due, key=lambda waiting: waiting[:2])
            self._agenda.remove(entry)
            self.now = max(self.now, entry[0])
            entry[2]()
        self.now = max(self.now, end)
