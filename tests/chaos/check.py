"""The checker: what readers saw, against the events that were made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tests.chaos.events import KEYS, Numbers
from tests.chaos.targets import Part


@dataclass(frozen=True, slots=True)
class Verdict:
    """How many events are missing, are there more than once, are nobody's or are not as they were made, and follow a
    later one of their key."""

    lost: int
    doubled: int
    foreign: int
    disordered: int

    @property
    def is_clean(self) -> bool:
        """Whether everything is there once and in order."""
        return not (self.lost or self.doubled or self.foreign or self.disordered)

    def __str__(self) -> str:
        foreign = f", {self.foreign} foreign" if self.foreign else ""
        return f"{self.lost} lost, {self.doubled} doubled, {self.disordered} out of order{foreign}"


def judge(parts: Iterable[Part], must: int, may: int | None = None) -> Verdict:
    """The events below `must` have to be there, those below `may` can be."""
    sorted_parts = sorted(parts, key=lambda part: (part.stream, part.place))
    numbers = np.concatenate([part.numbers for part in sorted_parts]) if sorted_parts else np.empty(0, np.int64)
    is_ours = (numbers >= 0) & (numbers < (must if may is None else may))
    counts = np.bincount(numbers[is_ours], minlength=must)
    return Verdict(
        lost=int((counts[:must] == 0).sum()),
        doubled=int((counts[counts > 1] - 1).sum()),
        foreign=int((~is_ours).sum()) + sum(part.wrong for part in sorted_parts),
        disordered=sum(_disordered(stream) for stream in _streams(sorted_parts)),
    )


def _streams(parts: list[Part]) -> Iterable[Numbers]:
    for stream in dict.fromkeys(part.stream for part in parts):
        yield np.concatenate([part.numbers for part in parts if part.stream == stream])


def _disordered(numbers: Numbers) -> int:
    """How many are smaller than one of their key before them. Equal ones are doubled, not out of order."""
    keys = numbers % KEYS
    order = np.argsort(keys, kind="stable")
    sorted_keys, values = keys[order], numbers[order]
    falls = (values[1:] < values[:-1]) & (sorted_keys[1:] == sorted_keys[:-1])
    return int(falls.sum())
