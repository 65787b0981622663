"""What the planners show of themselves."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from engine.spark.pulses import PATIENCE, Pulses, beat


def test_nothing_is_found_only_when_every_planner_was_asked_and_had_nothing(tmp_path: Path) -> None:
    first, second = tmp_path / "pulses" / "a", tmp_path / "pulses" / "b"
    pulses = Pulses([first, second])
    pulses.clear()

    beat(first, is_planned=False)
    assert not pulses.found_nothing()
    beat(second, is_planned=True)
    assert not pulses.found_nothing()
    beat(second, is_planned=False)
    assert pulses.found_nothing()

    pulses.clear()
    assert not pulses.found_nothing()


def test_a_planner_that_gives_no_answer_stops_beating(tmp_path: Path) -> None:
    now = [0.0]
    pulses = Pulses([tmp_path / "a"], rest=timedelta(seconds=30), clock=lambda: now[0])
    assert pulses.is_beating()

    now[0] += PATIENCE.total_seconds() + 29
    assert pulses.is_beating()
    beat(tmp_path / "a", is_planned=False)
    assert pulses.is_beating()

    now[0] += PATIENCE.total_seconds() + 30
    assert not pulses.is_beating()
