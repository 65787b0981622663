"""Start position of a table, as users set it. Pure.

    earliest                            the first existing record
    latest                              after the last one
    group                               the committed position of the consumer group (Kafka)
    timestamp:2026-01-01T00:00:00Z      the first record that is not older, by the source's own time
    offsets:{"0": 12, "1": 7}           record 12 of partition 0 and record 7 of partition 1
    savepoint                           the position in the state, which must exist

It only applies to a table that was not read yet. Otherwise the state has the position.

Backfill range of a run, as users set it. Pure.

from 00:00 to 24:00                   rows of that day, by event time, of all that exists when the run begins;
                                      then the run ends
from 00:00, then_continue             rows since midnight; after the history the run continues with new rows
stop_at orders=offsets:{"0": 9}       the records before number 9 of partition 0 of orders
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Literal, TypeAlias, get_args

from engine.errors import BackfillError, SettingError, message_of

StartWord: TypeAlias = Literal["earliest", "latest", "group", "timestamp", "offsets", "savepoint"]
"""Kind of a start position."""

EARLIEST_ONLY: frozenset[StartWord] = frozenset({"earliest"})
"""The start that every source supports."""
_DAY_OR_NUMBER = re.compile(r"-?[0-9]+")


@dataclass(frozen=True, slots=True)
class StartPosition:
    """Start position of a table. `instant` belongs to `timestamp`, and `offsets`, by partition, to `offsets`."""

    word: StartWord
    instant: datetime | None = None
    offsets: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        match self.word:
            case "timestamp":
                assert self.instant is not None
                return f"timestamp:{spell_instant(self.instant)}"
            case "offsets":
                return f"offsets:{json.dumps(dict(self.offsets))}"
        return self.word


EARLIEST, LATEST = StartPosition("earliest"), StartPosition("latest")


def spell_instant(instant: datetime) -> str:
    """Return an instant as it is read back: in UTC, with a Z."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def read_start(text: str) -> StartPosition:
    """Return the position that a text names; raise ValueError with the reason if it names none."""
    word, colon, rest = text.strip().partition(":")
    if word == "timestamp" and colon:
        return StartPosition("timestamp", read_time(rest.strip()))
    if word == "offsets" and colon:
        return StartPosition("offsets", offsets=_read_offsets(rest.strip()))
    for plain in get_args(StartWord):
        if plain == word and not colon and plain not in {"timestamp", "offsets"}:
            return StartPosition(plain)
    raise ValueError(
        f"{text!r} is no start position: it is earliest, latest, group, timestamp:2026-01-31T00:00:00Z, "
        'offsets:{"0": 12} or savepoint'
    )


def read_time(text: str) -> datetime:
    """Return the instant that a text in ISO 8601 names, in UTC where it says no zone; ValueError when it names none."""
    wrong = f"{text!r} is no instant: write one as 2026-01-31T00:00:00Z"
    # digits alone may be a day or microseconds
    if _DAY_OR_NUMBER.fullmatch(text):
        raise ValueError(wrong)
    try:
        instant = datetime.fromisoformat(text)
        return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(wrong) from error


def _read_offsets(text: str) -> tuple[tuple[str, int], ...]:
    wrong = f'{text!r} names no offsets: write a number for each partition, as in {{"0": 12, "1": 7}}'
    try:
        content = json.loads(text)
    except ValueError as error:
        raise ValueError(wrong) from error
    if not isinstance(content, dict) or not content:
        raise ValueError(wrong)
    for offset in content.values():
        if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
            raise ValueError(wrong)
    return tuple(sorted(content.items()))


def read_starts(texts: Sequence[str], name: str) -> Mapping[str, StartPosition]:
    """Return the positions that texts of the form TABLE=POSITION name; `name` is what a person calls the list of
    them."""
    starts: dict[str, StartPosition] = {}
    for text in texts:
        table, separator, position = text.partition("=")
        if not separator or not table.strip():
            raise SettingError(f"{name} {text!r} is not of the form TABLE=POSITION")
        if table.strip() in starts:
            raise SettingError(f"{name} names {table.strip()} twice")
        try:
            starts[table.strip()] = read_start(position)
        except ValueError as error:
            raise SettingError(f"{name} {table.strip()}: {message_of(error)}") from error
    return starts


def to_millis_up(instant: datetime) -> int:
    """Convert to milliseconds since 1970, rounded up, so that nothing older than the instant counts as recent."""
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return -((epoch - instant) // timedelta(milliseconds=1))


class StartStep(StrEnum):
    """Current step of a starting run."""

    READING = "reading the script"
    JAVA = "starting Java"
    PLANNING = "planning"
    FIRST_EPOCH = "first epoch"
    """The query runs, and no epoch is committed yet."""


@dataclass(frozen=True, slots=True)
class Backfill:
    """Range of a backfill: the rows with `since` <= event time < `until`, up to the end of each table at the start of
    the run, or up to `stop_at`. A run that `goes_on` then continues with new rows. With `partial_windows`, windows that
    the range cuts through are accepted."""

    since: datetime | None = None
    until: datetime | None = None
    stop_at: Mapping[str, StartPosition] = field(default_factory=dict)
    goes_on: bool = False
    partial_windows: bool = False

    def __post_init__(self) -> None:
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise BackfillError("the range of history is empty: it must end after it begins")
        if self.goes_on and (self.until is not None or self.stop_at):
            raise BackfillError(
                "history that a run goes on from ends where the tables end when the run begins, and nowhere else",
                hint="leave the end out, or do not go on",
            )


def read_backfill(
    since: str | None, until: str | None, stop_at: tuple[str, ...], *, goes_on: bool, partial_windows: bool
) -> Backfill | None:
    """Return the range that the texts name; None when they name none."""
    if since is None and until is None and not stop_at and not goes_on:
        if partial_windows:
            raise BackfillError("windows are cut only where a range of history is read", hint="say where it begins")
        return None
    stops = read_starts(stop_at, "the end of history of")
    wrong = next((name for name, stop in stops.items() if stop.word != "offsets"), None)
    if wrong is not None:
        raise BackfillError(f"history of {wrong} can end at offsets only, not at {stops[wrong]}")
    return Backfill(_instant(since), _instant(until), stops, goes_on, partial_windows)


def _instant(text: str | None) -> datetime | None:
    try:
        return None if text is None else read_time(text)
    except ValueError as error:
        raise BackfillError(message_of(error)) from error
