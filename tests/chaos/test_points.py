"""Every named fault point, for every sink that promises to write exactly once: killed there, and paused there."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from engine.delivery.faults import Point
from tests.chaos.check import judge
from tests.chaos.driver import DONE, OVERTAKEN, SUPERSEDED, planned
from tests.chaos.loop import Loop, Wanted, prepared, settled
from tests.chaos.targets import TARGETS, Place

pytestmark = pytest.mark.system
EVENTS = 1000
WANTED = Wanted(0, 0, EVENTS, seed=1, epoch_rows=200)
POINTS = [(name, point) for name, kind in TARGETS.items() for point in Point if point not in kind.lacks]
AT = {"rolling": ""}
"""In which epoch: the second, or whichever is the first to come to a point."""
Opens = Callable[[str], Loop]


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """The server of each kind of target, started when it is first asked for."""
    running: dict[object, str] = {}
    with ExitStack() as stack:

        def of(name: str) -> str:
            server = TARGETS[name].server
            if server not in running:
                running[server] = stack.enter_context(server(tmp_path_factory.mktemp("server")))
            return running[server]

        yield of


@pytest.fixture
def opens(addresses: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opens]:
    """A pipeline into a target of that name."""
    monkeypatch.setenv("ARROYO_NET_ALLOW", "")
    opened: list[Loop] = []

    def of(name: str) -> Loop:
        opened.append(prepared(TARGETS[name], Place(tmp_path, addresses(name)), WANTED))
        return opened[-1]

    yield of
    for loop in opened:
        loop.leave_none()


def comes_to_its_end(loop: Loop, events: int) -> None:
    """The next driver reads so many events, and then everything is as it should be."""
    loop.end_at(events)
    last = loop.start()
    assert last.ends(60)
    assert last.code == DONE, loop.last_words()
    view = loop.kind.view(loop.place)
    verdict = judge(settled(view, events), events)
    assert verdict.is_clean, str(verdict)
    assert view.leftovers() == []


@pytest.mark.parametrize(("name", "point"), POINTS)
def test_a_kill_at_any_point_loses_and_doubles_nothing(name: str, point: Point, opens: Opens) -> None:
    loop = opens(name)
    loop.end_at(EVENTS)
    killed = loop.start(fault=f"{point}:{AT.get(name, 1)}")
    assert killed.ends(60)
    assert killed.code == -signal.SIGKILL, loop.last_words()

    comes_to_its_end(loop, EVENTS)


@pytest.mark.parametrize(("name", "point"), [each for each in POINTS if TARGETS[each[0]].has_zombies])
def test_a_pause_at_any_point_does_no_harm_afterwards(name: str, point: Point, opens: Opens) -> None:
    loop = opens(name)
    zombie = loop.start(fault=f"{point}:{AT.get(name, 1)}:stop")
    assert zombie.stands_still(60), loop.last_words()
    successor = loop.start()
    assert successor.steps(random.Random(str(point)).randrange(1, 4), 60), loop.last_words()
    zombie.send(signal.SIGCONT)
    assert zombie.ends(60)
    assert zombie.code in (SUPERSEDED, OVERTAKEN), loop.last_words()
    assert successor.steps(1, 60) or (successor.ends(10) and successor.code == OVERTAKEN), loop.last_words()
    successor.kill()

    comes_to_its_end(loop, planned(loop.spec.paths.checkpoint) + 1000)
