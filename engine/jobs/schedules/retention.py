"""Decide which savepoints to retain. Removes nothing.

Keep the last 1 and one a day for 2 days, none older than 30 days; it is 2026-03-04, and these were taken, oldest first:

    a  01-20 03:00  pinned          retained   it is pinned
    b  02-01 03:00                  deleted    it is older than 30 days
    c  03-02 03:00                  deleted    a later savepoint is retained instead
    d  03-03 03:00                  retained   it is the last of 2026-03-03, one of the last 2 days with one
    e  03-04 03:00                  deleted    a later savepoint is retained instead
    f  03-04 09:00                  retained   it is the newest

Days and weeks are those of the policy's time zone, and only those with a savepoint count: a stopped pipeline loses
nothing. The order is that of the requests, so clock changes do not matter. The newest savepoint without known damage is
always retained, and damaged ones do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal
from zoneinfo import ZoneInfo

from engine.errors import RetentionError


@dataclass(frozen=True, slots=True)
class Retention:
    """Retention of a pipeline's savepoints. Without `keep_last`, `daily` and `weekly`, all that are not older than
    `max_age` are retained. Savepoints from before an upgrade are retained for `upgrades_for`, or forever."""

    keep_last: int | None = None
    daily: int | None = None
    weekly: int | None = None
    max_age: timedelta | None = None
    upgrades_for: timedelta | None = None
    time_zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class HeldSavepoint:
    """Facts about a savepoint for the retention. `in_use` is its user, None if it is not used."""

    id: str
    taken_at: datetime
    state: Literal["pending", "completed", "failed"] = "completed"
    is_pinned: bool = False
    in_use: str | None = None
    before_version: int | None = None
    is_damaged: bool = False


@dataclass(frozen=True, slots=True)
class Fate:
    """Whether a savepoint is retained, and why."""

    id: str
    goes: bool
    reason: str


def check_retention(policy: Retention) -> None:
    """Refuse a policy without a rule, or with an unknown time zone."""
    if (policy.keep_last, policy.daily, policy.weekly, policy.max_age) == (None, None, None, None):
        raise RetentionError(
            "the policy says nothing of what is kept", hint="give at least one of keep_last, daily, weekly and max_age"
        )
    zone_of(policy.time_zone)


def zone_of(name: str) -> tzinfo:
    """Return the time zone of a name; raise if there is none."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError) as error:
        raise RetentionError(
            f"there is no time zone {name!r}", hint="write one such as Europe/Berlin, or UTC"
        ) from error


def decide_fates(savepoints: Sequence[HeldSavepoint], policy: Retention, now: datetime) -> list[Fate]:
    """Decide the fate of each savepoint, in the order of the requests for them, oldest first."""
    sound = [savepoint for savepoint in savepoints if savepoint.state == "completed" and not savepoint.is_damaged]
    kept = _kept_by_rules(sound, policy)
    fates: list[Fate] = []
    for at, savepoint in enumerate(savepoints):
        needed = _needed(savepoint, sound, has_later=any(later in sound for later in savepoints[at + 1 :]))
        if needed is not None:
            fates.append(Fate(savepoint.id, False, needed))
        else:
            fates.append(_by_rules(savepoint, policy, kept.get(savepoint.id), now))
    return fates


def _needed(savepoint: HeldSavepoint, sound: Sequence[HeldSavepoint], *, has_later: bool) -> str | None:
    """Return why a savepoint stays regardless of the policy; None if the policy decides."""
    if savepoint.in_use is not None:
        return savepoint.in_use
    if savepoint.state == "pending":
        return "it is being taken"
    if savepoint.is_pinned:
        return "it is pinned"
    if savepoint.state == "failed":
        return None if has_later else "it has failed, and none is complete since"
    if sound and savepoint.id == sound[-1].id:
        return "it is the newest"
    return "it is damaged, and there is no other" if not sound else None


def _by_rules(savepoint: HeldSavepoint, policy: Retention, kept: str | None, now: datetime) -> Fate:
    age = max(now - savepoint.taken_at, timedelta(0))  # a clock that was set back makes nothing old
    if savepoint.state == "failed":
        return Fate(savepoint.id, True, "it has failed, and a later one is complete")
    if savepoint.before_version is not None and not savepoint.is_damaged:
        before = f"it is the way back from version {savepoint.before_version}"
        if policy.upgrades_for is None or age <= policy.upgrades_for:
            return Fate(savepoint.id, False, before)
        return Fate(savepoint.id, True, f"{before}, and older than {_days(policy.upgrades_for)}")
    if policy.max_age is not None and age > policy.max_age:
        return Fate(savepoint.id, True, f"it is older than {_days(policy.max_age)}")
    if savepoint.is_damaged:
        return Fate(savepoint.id, True, "it is damaged, and there is another")
    return Fate(savepoint.id, kept is None, kept or "a later savepoint is kept in its place")


def _kept_by_rules(sound: Sequence[HeldSavepoint], policy: Retention) -> Mapping[str, str]:
    """Return the savepoints that a rule retains, with its description."""
    if (policy.keep_last, policy.daily, policy.weekly) == (None, None, None):
        return {savepoint.id: "it is not old enough to go" for savepoint in sound}
    zone = zone_of(policy.time_zone)
    newest_first = sound[::-1]
    kept: dict[str, str] = {}
    for savepoint in newest_first[: policy.keep_last or 0]:
        kept[savepoint.id] = f"it is one of the last {policy.keep_last}" if policy.keep_last != 1 else "it is the last"
    _keep_one_each(kept, newest_first, policy.daily, "days", lambda at: str(at.astimezone(zone).date()))
    _keep_one_each(kept, newest_first, policy.weekly, "weeks", lambda at: _week(at.astimezone(zone)))
    return kept


def _keep_one_each(
    kept: dict[str, str],
    newest_first: Sequence[HeldSavepoint],
    count: int | None,
    name: str,
    stretch_of: Callable[[datetime], str],
) -> None:
    """Retain the last savepoint of each of the newest time intervals that have one."""
    last_of: dict[str, str] = {}
    for savepoint in newest_first:
        last_of.setdefault(stretch_of(savepoint.taken_at), savepoint.id)
    for stretch in sorted(last_of, reverse=True)[: count or 0]:
        kept.setdefault(last_of[stretch], f"it is the last of {stretch}, one of the last {count} {name} that have one")


def _week(at: datetime) -> str:
    year, week, _ = at.isocalendar()
    return f"{year:04}-W{week:02}"


def _days(length: timedelta) -> str:
    return f"{length.days} day{'' if length.days == 1 else 's'}" if length.seconds == 0 and length.days else str(length)
