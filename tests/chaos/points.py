"""What a driver that is killed or paused at a fault point must not do to what its successors write."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from engine.delivery.faults import Point
from tests.chaos.check import judge
from tests.chaos.driver import DONE, OVERTAKEN, SUPERSEDED, planned
from tests.chaos.loop import PATIENCE, Loop, LoopSettings, prepared, settled
from tests.chaos.targets import KINDS, Place

EVENTS = 1000
SETTINGS = LoopSettings(0, 0, EVENTS, seed=1, epoch_rows=200)
FENCED = list(Point)[list(Point).index(Point.WHILE_WRITING) : list(Point).index(Point.AFTER_LEDGER)]
"""Where a target that fences off older runs does not let one go on to the logs, in which it would be overtaken. The
fence itself is made before the epoch, beside all else that the run does."""
PAUSED_IN = {"rolling": ""}
"""In which epoch: the second, or whichever is the first to come to a point."""


def killed_at(point: Point, name: str, epoch: str, place: Place) -> None:
    """A driver is killed there, in an epoch or in whichever comes to the point, and the next one goes on to the end."""
    with _loop(name, place) as loop:
        loop.end_at(EVENTS)
        killed = loop.start(fault=f"{point}:{epoch}")
        assert killed.ends(PATIENCE), "nothing is killed"
        assert killed.code == -signal.SIGKILL, loop.log_tail()

        _comes_to_its_end(loop, EVENTS)


def paused_at(point: Point, name: str, place: Place) -> None:
    """A driver stands still there until its successor has gone on for some epochs, and notices that at once."""
    with _loop(name, place) as loop:
        zombie = loop.start(fault=f"{point}:{PAUSED_IN.get(name, 1)}:stop")
        assert zombie.stands_still(PATIENCE), loop.log_tail()
        successor = loop.start()
        assert successor.steps(random.Random(str(point)).randrange(1, 4), PATIENCE), loop.log_tail()
        zombie.send(signal.SIGCONT)
        assert zombie.ends(PATIENCE), "the zombie goes on"
        noticed = (SUPERSEDED,) if point in FENCED and loop.kind.fences else (SUPERSEDED, OVERTAKEN)
        assert zombie.code in noticed, loop.log_tail()
        assert successor.steps(1, PATIENCE) or (successor.ends(10) and successor.code == OVERTAKEN), loop.log_tail()
        successor.kill()

        _comes_to_its_end(loop, planned(loop.spec.paths.checkpoint) + 1000)


@contextmanager
def _loop(name: str, place: Place) -> Iterator[Loop]:
    loop = prepared(KINDS[name], place, SETTINGS)
    try:
        yield loop
    finally:
        loop.leave_none()


def _comes_to_its_end(loop: Loop, events: int) -> None:
    """The next driver reads so many events, and then everything is as it should be."""
    loop.end_at(events)
    last = loop.start()
    assert last.ends(PATIENCE), "the last driver does not come to the end"
    assert last.code == DONE, loop.log_tail()
    view = loop.kind.view(loop.place)
    verdict = judge(settled(view, events), events)
    assert verdict.is_clean, str(verdict)
    assert view.leftovers() == [], "something lies about"
