"""Whether something grows that should stay as it is.

minute            0 .. 25    25 .. 35            35 .. 110    110 .. 120
memory, MiB       anything   median 1,000: then  anything     median 1,020: now, 2 % more
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

LIMIT = 0.03
SLACK = {"MiB": 2.0, "files": 8.0, "threads": 8.0}
"""By unit, what is no growth whatever its share: a file more in a directory of ten is not a leak."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What was measured at a moment: figures by what they are of, and their unit."""

    second: float
    figures: Mapping[tuple[str, str], float]


@dataclass(frozen=True, slots=True)
class Growth:
    """One figure, as it was after the settling time and as it is in the end."""

    subject: str
    unit: str
    then: float
    now: float

    @property
    def share(self) -> float:
        """How much more it is, 0.03 for three per cent."""
        return self.now / self.then - 1 if self.then else 0.0

    @property
    def is_too_much(self) -> bool:
        """Whether that is a leak."""
        return self.now - self.then > max(LIMIT * self.then, SLACK[self.unit])


def growths(samples: Sequence[Sample], settled: float, span: float) -> list[Growth]:
    """Each figure's median around the moment when all has settled, and over as long a time at the end.

    Raises ValueError when nothing was measured at one of the two.
    """
    end = samples[-1].second
    early = [sample for sample in samples if abs(sample.second - settled) <= span / 2]
    late = [sample for sample in samples if sample.second >= end - span]
    if not early or not late:
        raise ValueError("nothing was measured when all should have settled, or at the end")
    subjects = sorted({subject for sample in samples for subject in sample.figures})
    return [Growth(name, unit, _middle(early, (name, unit)), _middle(late, (name, unit))) for name, unit in subjects]


def _middle(samples: Sequence[Sample], subject: tuple[str, str]) -> float:
    return median(sample.figures.get(subject, 0.0) for sample in samples)
