"""Whatever is killed in the middle of a request, the job ends in the state that was asked for."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kills.points import CHANGES_OF_STATE, KILLS, LEFT_OUT, SHORT, kills_of
from tests.kills.stories import ArmedPlane, Kill
from tests.kills.verbs import VERBS, play, points_of

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]
STAND_IN = shlex.join([sys.executable, "-m", "tests.kills.driver"])
CHOSEN = KILLS if os.environ.get("KILLS") == "all" else [kill for kill in KILLS if str(kill) in SHORT]


@pytest.fixture(scope="module")
def armed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArmedPlane]:
    """A control plane that all stories share: each kill leaves it as good as new."""
    plane = ArmedPlane(tmp_path_factory.mktemp("armed"), {"HEARTBEAT_LIMIT": "30s"}, STAND_IN)
    plane.start()
    yield plane
    plane.close()


@pytest.mark.parametrize("kill", CHOSEN, ids=str)
def test_a_job_ends_in_the_state_asked_for_whatever_is_killed(armed: ArmedPlane, kill: Kill, tmp_path: Path) -> None:
    play(armed, tmp_path, kill)


@pytest.mark.parametrize("verb", VERBS if os.environ.get("KILLS") == "all" else CHANGES_OF_STATE)
def test_a_request_is_killed_at_every_point_that_it_comes_to(armed: ArmedPlane, verb: str, tmp_path: Path) -> None:
    come_to = points_of(armed, tmp_path, verb)
    killed = kills_of(verb)

    # the detail of a point in an epoch is the epoch's number
    unkilled = {point for point in come_to - killed if point.partition(":")[0] not in killed | LEFT_OUT.keys()}
    assert unkilled - LEFT_OUT.keys() == set()
