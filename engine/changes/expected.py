"""Expected effects of a change besides the state: the pause, and the gate certificates that it voids. They are measured
or unknown. They change over time, so they are not part of what a user accepts
(docs/decisions/what-is-accepted-is-the-plan.md).

    expected pause: about 9 s, the current epoch and a start, as the last 2 upgrades took
    gate certificates voided: g_1 of hourly scheduled_05:00
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Expected:
    """Expected effects. `pause` is None if unknown; `why` explains its parts, or why it is unknown. `voided` names the
    voided certificates, None if that is unknown."""

    pause: timedelta | None
    why: str
    voided: tuple[str, ...] | None

    def to_json(self) -> dict[str, object]:
        """In plain values."""
        micros = None if self.pause is None else self.pause // timedelta(microseconds=1)
        voided = None if self.voided is None else list(self.voided)
        return {"pause_micros": micros, "pause": self.why, "voided": voided}

    def lines(self) -> list[str]:
        """For people."""
        about = "unknown" if self.pause is None else f"about {self.pause.total_seconds():.0f} s"
        voided = "unknown, a control plane keeps them" if self.voided is None else ", ".join(self.voided) or "none"
        return [f"expected pause: {about}, {self.why}", f"gate certificates voided: {voided}"]


WITHOUT_A_CONTROL_PLANE = Expected(None, "only a control plane notes how long starts take", None)
"""Expectation for a state directory or a savepoint, where nothing is measured."""


def of_restart(starts: Sequence[timedelta], epoch: timedelta | None, voided: tuple[str, ...]) -> Expected:
    """Estimate a change that restarts the job with its state unchanged. `starts` are the durations of recent starts,
    `epoch` is the longest time that the current epoch may still take."""
    if not starts:
        return Expected(None, "no start of it has been measured yet", voided)
    return Expected(
        _mean(starts, epoch), f"the epoch in hand and a start, as the last {_times(starts, 'start')}", voided
    )


def of_upgrade(
    upgrades: Sequence[timedelta], starts: Sequence[timedelta], epoch: timedelta | None, voided: tuple[str, ...]
) -> Expected:
    """Estimate a change that also builds a new state. Only `upgrades`, the starts that have done so, tell how long that
    takes; other `starts` give a lower bound."""
    if upgrades:
        why = f"the epoch in hand and a start, as the last {_times(upgrades, 'upgrade')}"
        return Expected(_mean(upgrades, epoch), why, voided)
    if not starts:
        return Expected(None, "no start of it has been measured yet", voided)
    least = f"a start has taken {_mean(starts, None).total_seconds():.0f} s"
    why = f"{least}, and how long its savepoint and the new state take has not been measured yet"
    return Expected(None, why, voided)


def _mean(starts: Sequence[timedelta], epoch: timedelta | None) -> timedelta:
    return (epoch or timedelta()) + sum(starts, timedelta()) / len(starts)


def _times(starts: Sequence[timedelta], word: str) -> str:
    return f"{word} took" if len(starts) == 1 else f"{len(starts)} {word}s took"
