"""Every named fault point, for every sink that promises to write exactly once: killed there, and paused there."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from engine.delivery.faults import Point
from tests.chaos.check import judge
from tests.chaos.driver import DONE, OVERTAKEN, SUPERSEDED, planned
from tests.chaos.loop import Loop, Wanted, opened
from tests.chaos.targets import TARGETS

pytestmark = pytest.mark.system
AT, EVENTS = 1, 1000
WANTED = Wanted(0, 0, EVENTS, seed=1, epoch_rows=200)
POINTS = [(name, point) for name in TARGETS for point in Point]


def comes_to_its_end(loop: Loop, events: int) -> None:
    """The next driver reads so many events, and then everything is as it should be."""
    loop.end_at(events)
    last = loop.start()
    assert last.ends(60)
    assert last.code == DONE, loop.last_words()
    view = loop.kind.view(loop.place)
    verdict = judge(view.new(), events)
    assert verdict.is_clean, str(verdict)
    assert view.leftovers() == []


@pytest.mark.parametrize(("name", "point"), POINTS)
def test_a_kill_at_any_point_loses_and_doubles_nothing(name: str, point: Point, tmp_path: Path) -> None:
    kind = TARGETS[name]
    with opened(kind, tmp_path, WANTED) as loop:
        loop.end_at(EVENTS)
        killed = loop.start(fault=f"{point}:{AT}")
        assert killed.ends(60)

        assert killed.code == (DONE if point in kind.lacks else -signal.SIGKILL), loop.last_words()
        comes_to_its_end(loop, EVENTS)


@pytest.mark.parametrize(("name", "point"), [each for each in POINTS if TARGETS[each[0]].has_zombies])
def test_a_pause_at_any_point_does_no_harm_afterwards(name: str, point: Point, tmp_path: Path) -> None:
    kind = TARGETS[name]
    if point in kind.lacks:
        return
    with opened(kind, tmp_path, WANTED) as loop:
        zombie = loop.start(fault=f"{point}:{AT}:stop")
        assert zombie.stands_still(60), loop.last_words()
        successor = loop.start()
        assert successor.steps(random.Random(str(point)).randrange(1, 4), 60), loop.last_words()
        zombie.send(signal.SIGCONT)
        assert zombie.ends(60)
        assert zombie.code in (SUPERSEDED, OVERTAKEN), loop.last_words()
        assert successor.steps(1, 60) or successor.code == OVERTAKEN, loop.last_words()
        successor.kill()

        comes_to_its_end(loop, planned(loop.spec.paths.checkpoint) + 1000)
