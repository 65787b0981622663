"""Names of published files. A name is chosen once, and stored in the manifest that decides on the file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal
from uuid import UUID

from engine.delivery.epoch import Epoch

Strategy = Literal["serial", "uuid", "uuid_v7", "ulid"]
Chance = Callable[[int], bytes]
"""Function that returns random bytes."""

_ULID = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def stem(strategy: Strategy, epoch: Epoch, now: int, chance: Chance) -> str:
    """Return a unique file stem; `now` in microseconds is part of stems that sort by time."""
    match strategy:
        case "serial":
            return f"{epoch.number:010d}-{epoch.lineage[:12]}"
        case "uuid":
            return str(UUID(bytes=chance(16), version=4))
        case "uuid_v7":
            return str(_uuid_v7(now // 1000, chance))
        case "ulid":
            number = (now // 1000 % 2**48) << 80 | int.from_bytes(chance(10))
            return "".join(_ULID[number >> shift & 31] for shift in range(125, -5, -5))


def _uuid_v7(millis: int, chance: Chance) -> UUID:
    number = (millis % 2**48) << 80 | int.from_bytes(chance(10))
    number = number & ~(0xF << 76) | 7 << 76
    return UUID(int=number & ~(0b11 << 62) | 0b10 << 62)
