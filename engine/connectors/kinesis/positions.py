"""Read positions in shards, and the order in which shards are read. Pure.

    shard 0 is split into 1 and 2; then 1 and 2 are merged into 3
    nothing is read         0
    0 is read to its end    1 and 2
    1 is, too               2: shard 3 has records that follow those of 2

Records of a key are in one shard after the other, so they are read in their order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from engine.connectors.base import Position
from engine.errors import StartPositionError


@dataclass(frozen=True, slots=True)
class ShardPosition:
    """Position after the record with the number `after`; before that, at the record `at`, at the first record that has
    not arrived before `since` (milliseconds), or at the oldest record. Nothing follows it if `is_end`."""

    after: str | None = None
    at: str | None = None
    since: int | None = None
    is_end: bool = False

    def moved(self, last: str | None, *, is_end: bool) -> ShardPosition:
        """Return the position after the record `last`, if there is one."""
        if last is None:
            return ShardPosition(self.after, self.at, self.since, is_end)
        return ShardPosition(last, is_end=is_end)

    def to_json(self) -> Position:
        """Return the entry of Spark's offset log."""
        begin = {"after": self.after, "at": self.at, "since": self.since}
        text: dict[str, Position] = {name: value for name, value in begin.items() if value is not None}
        return {**text, "end": True} if self.is_end else text

    @classmethod
    def from_json(cls, position: Position) -> ShardPosition:
        """Read the position from the offset log."""
        assert isinstance(position, dict)
        after, at, since = position.get("after"), position.get("at"), position.get("since")
        assert after is None or isinstance(after, str)
        assert at is None or isinstance(at, str)
        assert since is None or isinstance(since, int)
        return cls(after, at, since, bool(position.get("end", False)))


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard as the stream lists it."""

    name: str
    parents: tuple[str, ...] = ()
    is_open: bool = True


def readable(shards: Mapping[str, Shard], ended: Collection[str], known: Collection[str]) -> list[str]:
    """Return the shards whose parents are read to the end. Parents that are neither listed nor `known` have expired."""
    there = {*shards, *known}
    return [
        name
        for name, shard in shards.items()
        if all(parent in ended or parent not in there for parent in shard.parents)
    ]


def stated_numbers(table: str, numbers: Mapping[str, int], shards: Mapping[str, Shard]) -> dict[str, ShardPosition]:
    """Return the positions of a start at sequence numbers: shards after the named ones are read from their first
    record, shards before them are not read. Raise StartPositionError if a shard is neither."""
    unknown = [name for name in numbers if name not in shards]
    if unknown:
        raise StartPositionError(
            f"{table} has no shard {unknown[0]!r}", hint=f"its shards are {', '.join(sorted(shards))}"
        )
    before = _ancestors(set(numbers), shards)
    positions = {name: ShardPosition(is_end=True) for name in before - set(numbers)}
    positions |= {name: ShardPosition(at=str(number)) for name, number in numbers.items()}
    for name in sorted(shards.keys() - positions.keys()):
        if not _ancestors({name}, shards) & numbers.keys():
            raise StartPositionError(
                f"no sequence number is named for shard {name!r} of {table}",
                hint="name one for every shard that is read from the start",
            )
        positions[name] = ShardPosition()
    return positions


def _ancestors(names: Collection[str], shards: Mapping[str, Shard]) -> set[str]:
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        shard = shards.get(waiting.pop())
        for parent in () if shard is None else shard.parents:
            if parent in shards and parent not in found:
                found.add(parent)
                waiting.append(parent)
    return found
