"""The rows of a story: one step of them comes in each epoch, and none of them is late."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

STEPS = 8
MINUTES = 4.0
"""How much event time a step has."""
SIZES = 5


@dataclass(frozen=True, slots=True)
class Event:
    """A row of the table events, and the epoch in which it comes."""

    epoch: int
    minute: float
    key: str
    number: int


@dataclass(frozen=True, slots=True)
class Size:
    """A row of the table sizes, and in which step of that table it comes."""

    step: int
    size: int


def random_events(dice: random.Random) -> tuple[Event, ...]:
    """Rows whose times all differ, so that every ranking of them has one answer. Each step has some: a step without
    would be no epoch, and those after it would come an epoch sooner."""
    minutes: list[int] = []
    while len({_step(minute) for minute in minutes}) < STEPS:
        minutes = sorted(dice.sample(range(int(STEPS * MINUTES * 100)), STEPS * 5))
    return tuple(Event(_step(minute), minute / 100, dice.choice("abc"), dice.randrange(20)) for minute in minutes)


def _step(hundredths: int) -> int:
    return int(hundredths / 100 // MINUTES)


def sizes() -> Sequence[Size]:
    """What the numbers of events are joined with."""
    return tuple(Size(step, step % SIZES) for step in range(STEPS))
