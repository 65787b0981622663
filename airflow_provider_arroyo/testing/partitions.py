"""Consumers of time buckets in the control plane in memory.

plane.add("orders", behind=timedelta(minutes=5))
hours = plane.consume("hours", "orders", every="1 hour")   or a DAG under test creates it
hours.void(datetime(2026, 1, 1, 3, tzinfo=UTC))            like a restore: buckets from there on are void
hours.reopen(datetime(2026, 1, 1, 3, tzinfo=UTC))          like a late row of this hour
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow_provider_arroyo.answers import to_micros

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
        """Have what was closed from this bucket on told as void, and closed once more when it is complete again."""
        for told in list(self.deliveries):
            if told.kind != "voided" and not told.is_void and told.start >= since:
                told.is_void = True
                self._tell("voided", told.start, told.at)

    def reopen(self, start: datetime) -> None:
        """Have rows come late for the bucket that begins there: it is told of once more where that is wanted, if it was
        told of as closed."""
        told = {told.start: told for told in self.deliveries}.get(start)
        if self.body["late"] == "reopen" and told is not None and told.kind != "voided":
            self._tell("reopened", start, told.at)

    def close(self, complete_until: datetime | None, now: datetime) -> None:
        """Tell it of all that is complete, and has ended by the clock."""
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
        """The buckets of which it was told that they are void, and not that they are closed since."""
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
    """The consumer that such a request makes. `pipeline` is the id and the name of what it follows."""
    whole = full(body)
    if whole["time_zone"] != "UTC":
        raise ValueError("a control plane in memory divides by UTC only; try this with a real one")
    every, offset = _duration(whole["every"]), _duration(whole["offset"])
    begin = _instant(whole["start"]) if whole["start"] else min(complete_until or now, now)
    start = begin - (begin - _EPOCH - offset) % every
    return FakeConsumer(f"part_{number}", name, *pipeline, whole, start, now)


def differs(consumer: FakeConsumer, body: dict[str, Any]) -> bool:
    """Whether a request for a consumer of this name asks for another one."""
    wanted = full(body)
    begin = consumer.begin if wanted["start"] is None else _instant(wanted["start"])
    return (
        wanted["pipeline"] not in (consumer.pipeline, consumer.pipeline_id)
        or any(wanted[name] != consumer.body[name] for name in ("table", "by", "time_zone", "until"))
        or any(_duration(wanted[name]) != _duration(consumer.body[name]) for name in ("every", "offset"))
        or not consumer.begin <= begin < consumer.begin + consumer.every
    )


def full(body: dict[str, Any]) -> dict[str, Any]:
    """A request with what it leaves out."""
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
