"""Every named fault point, for every sink that promises to write exactly once: killed there, and paused there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from engine.delivery.faults import Point
from tests.chaos.apart import apart
from tests.chaos.points import killed_at, paused_at
from tests.chaos.targets import KINDS, TARGETS, Place

pytestmark = pytest.mark.system
POINTS = [(name, point) for name, kind in TARGETS.items() for point in Point if point not in kind.lacks]
KILLS = [
    (name, point, epoch)
    for name, kind in KINDS.items()
    for point in Point
    if point not in kind.lacks
    for epoch in kind.killed_in
]
PlaceOf = Callable[[str], Place]


@pytest.fixture(scope="module")
def address_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """The server of each kind of target, started when it is first asked for."""
    running: dict[object, str] = {}
    with ExitStack() as stack:

        def address(name: str) -> str:
            server = KINDS[name].server
            if server not in running:
                running[server] = stack.enter_context(server(tmp_path_factory.mktemp("server")))
            return running[server]

        yield address


@pytest.fixture
def place_of(address_of: Callable[[str], str], tmp_path: Path) -> PlaceOf:
    """Where a target of that name can be written."""
    return lambda name: Place(tmp_path, address_of(name))


@pytest.mark.parametrize(("name", "point", "epoch"), KILLS)
def test_a_kill_at_any_point_loses_and_doubles_nothing(
    name: str, point: Point, epoch: str, place_of: PlaceOf, tmp_path: Path
) -> None:
    apart(tmp_path / "apart.log", killed_at, point, name, epoch, place_of(name))


@pytest.mark.parametrize(("name", "point"), [case for case in POINTS if TARGETS[case[0]].has_zombies])
def test_a_pause_at_any_point_does_no_harm_afterwards(
    name: str, point: Point, place_of: PlaceOf, tmp_path: Path
) -> None:
    apart(tmp_path / "apart.log", paused_at, point, name, place_of(name))
