"""When a run that drains is done."""

from __future__ import annotations

from pathlib import Path

from engine.spark.read.pulses import Pulses, beat, is_draining
from engine.spark.run.stop_control import Control, Draining


def test_a_run_is_drained_when_its_planners_have_nothing_to_do_twice_and_no_epoch_came_in_between(
    tmp_path: Path,
) -> None:
    files = [tmp_path / "a", tmp_path / "b"]
    draining = Draining(Pulses(files))

    def all_rest() -> None:
        for file in files:
            beat(file, is_planned=False)

    all_rest()
    assert not draining.is_over(7, is_in_epoch=False)
    assert is_draining(files[0])
    assert not draining.is_over(7, is_in_epoch=False)  # what they said before they were told does not count

    all_rest()
    assert not draining.is_over(7, is_in_epoch=True)
    assert not draining.is_over(7, is_in_epoch=False)  # the first round
    assert not draining.is_over(7, is_in_epoch=False)  # nobody was asked again
    all_rest()
    assert not draining.is_over(8, is_in_epoch=False)  # Spark had an epoch of its own to run
    beat(files[0], is_planned=True)
    beat(files[1], is_planned=False)
    assert not draining.is_over(8, is_in_epoch=False)
    all_rest()
    assert draining.is_over(8, is_in_epoch=False)


def test_the_next_run_reads_again(tmp_path: Path) -> None:
    pulses = Pulses([tmp_path / "a"])
    Draining(pulses).is_over(0, is_in_epoch=False)

    pulses.clear()

    assert not is_draining(tmp_path / "a")


def test_a_later_wish_only_hurries_a_run() -> None:
    control = Control()
    seen = []
    for mode in ("graceful", "checkpoint", "graceful", "immediate", "checkpoint"):
        control.stop(mode)
        seen.append((control.mode, control.refuses_epochs))

    assert seen == [
        ("graceful", False),
        ("checkpoint", True),
        ("checkpoint", True),
        ("immediate", True),
        ("immediate", True),
    ]
