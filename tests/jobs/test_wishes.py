from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from engine.jobs.actions import (
    Action,
    Drain,
    Finish,
    GiveUp,
    Kill,
    Launch,
    MarkRunning,
    MarkStopped,
    Recover,
    Repartition,
)
from engine.jobs.records import JobRecord
from engine.jobs.states import State
from engine.jobs.wishes import author_of
from tests.jobs.builders import FLEETING, T0, status, wanted

RETRY_AT: datetime = T0


@pytest.mark.parametrize(
    ("state", "action", "pipeline", "job", "author"),
    [
        (State.CREATED, Launch(), {}, {}, "ann"),
        (State.SCHEDULING, MarkRunning(), {}, {}, "ann"),
        (State.RUNNING, Drain(State.CHECKPOINT_STOPPING), {"stop": "checkpoint"}, {}, "ann"),
        (State.CHECKPOINT_STOPPING, MarkStopped(), {"stop": "checkpoint"}, {}, "ann"),
        (State.RUNNING, Kill(State.STOPPING), {"stop": "force"}, {}, "ann"),
        (State.RUNNING, Kill(State.STOPPING), {"restart_now": True, "restarts_asked": 1}, {}, "ann"),
        (State.RESCALING, Repartition(4), {"parallelism": 4}, {}, "ann"),
        (State.RECOVERING, Launch(), {"restarts_asked": 1}, {"failures": 2}, "ann"),
        (State.RECOVERING, Launch(), {"version": 2}, {"outages": 2}, "ann"),
        (State.RECOVERING, Launch(), {}, {"failures": 2}, "control plane"),
        (State.SCHEDULING, MarkRunning(), {}, {"failures": 1}, "control plane"),
        (State.SCHEDULING, MarkRunning(), {}, {"outages": 1}, "control plane"),
        (State.CHECKPOINT_STOPPING, Kill(State.STOPPING), {"stop": "checkpoint"}, {}, "control plane"),
        (State.RUNNING, Kill(State.RECOVERING, FLEETING), {}, {}, "control plane"),
        (State.RUNNING, Recover(FLEETING, 1, RETRY_AT), {}, {}, "control plane"),
        (State.RUNNING, GiveUp(FLEETING), {}, {}, "control plane"),
        (State.RUNNING, Finish(), {}, {}, "control plane"),
        (State.CREATED, Launch(), {"asked_by": None}, {}, "control plane"),
    ],
)
def test_a_step_is_of_whoever_has_asked_for_it(
    state: State, action: Action, pipeline: dict[str, Any], job: dict[str, Any], author: str
) -> None:
    record = JobRecord(wanted(**{"asked_by": "ann", **pipeline}), status(state, **job), None)

    assert author_of(record, action) == author
