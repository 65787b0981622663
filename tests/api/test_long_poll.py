"""Waits of the command line that the control plane holds: until the last answer, the end, or nobody answers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from engine.cli.base import Json, RefusedError
from engine.cli.waiting import HOLD, PATIENCE, LongPoll
from engine.errors import EngineError, UnreachableError

AWAY = UnreachableError("nobody answers")
STARTING = RefusedError(503, {"code": "server.starting"})
NOT_FOUND = RefusedError(404, {"code": "partition.not_found"})


class Plane:
    """Gives these answers, each after having held the question held as long as it may be; the last one for ever."""

    def __init__(self, *answers: Json | EngineError) -> None:
        self.answers, self.holds, self.now = list(answers), list[float](), 0.0

    def ask(self, hold: float) -> Json:
        self.holds.append(hold)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, EngineError):
            raise answer
        self.now += 0 if answer == "told" else hold
        return answer

    def pause(self, seconds: float) -> None:
        self.now += seconds

    def wait(self, timeout: float) -> Json:
        poll = LongPoll(self.ask, timeout, clock=lambda: self.now, pause=self.pause)
        return poll.until(lambda answer: answer == "told")


@pytest.mark.unit
@pytest.mark.parametrize(
    ("answers", "timeout", "holds"),
    [
        (("told",), 0, [0]),
        (("nothing",), 0, [0]),
        (("nothing", "told"), 600, [HOLD, HOLD]),
        (("nothing",), 60, [HOLD, HOLD, 10]),
    ],
)
def test_long_poll_repeats_until_the_response_or_the_deadline(
    answers: Sequence[Json], timeout: float, holds: Sequence[float]
) -> None:
    plane = Plane(*answers)

    assert plane.wait(timeout) == answers[-1]
    assert plane.holds == holds


@pytest.mark.unit
def test_a_control_plane_that_restarts_meanwhile_is_waited_for() -> None:
    assert Plane("nothing", AWAY, AWAY, STARTING, "nothing", AWAY, "told").wait(600) == "told"


@pytest.mark.unit
@pytest.mark.parametrize(
    ("answers", "timeout", "after"),
    [
        ((AWAY,), 600, 0),
        ((NOT_FOUND,), 600, 0),
        (("nothing", NOT_FOUND), 600, HOLD),
        (("nothing", AWAY), 600, HOLD + PATIENCE),
        (("nothing", AWAY), HOLD + 3, HOLD + 3),
    ],
)
def test_long_poll_ends_at_a_refusal_a_deadline_or_a_long_outage(
    answers: Sequence[Json | EngineError], timeout: float, after: float
) -> None:
    plane = Plane(*answers)

    with pytest.raises(EngineError) as refusal:
        plane.wait(timeout)
    assert refusal.value is answers[-1]
    assert after <= plane.now <= after + 1
