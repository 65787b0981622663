from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from engine.jobs.authors import author_of
from engine.jobs.decisions import actions
from engine.jobs.decisions.states import State
from engine.jobs.records import JobRecord
from tests.jobs.builders import FLEETING, T0, status, wanted

RETRY_AT: datetime = T0


@pytest.mark.parametrize(
    ("state", "action", "pipeline", "job", "author"),
    [
        (State.CREATED, actions.Launch(), {}, {}, "ann"),
        (State.SCHEDULING, actions.MarkRunning(), {}, {}, "ann"),
        (State.RUNNING, actions.Drain(State.CHECKPOINT_STOPPING), {"stop": "checkpoint"}, {}, "ann"),
        (State.CHECKPOINT_STOPPING, actions.MarkStopped(), {"stop": "checkpoint"}, {}, "ann"),
        (State.RUNNING, actions.Kill(State.STOPPING), {"stop": "force"}, {}, "ann"),
        (State.RUNNING, actions.Kill(State.STOPPING), {"restart_now": True, "restarts_asked": 1}, {}, "ann"),
        (State.RESCALING, actions.Repartition(4), {"parallelism": 4}, {}, "ann"),
        (State.RECOVERING, actions.Launch(), {"restarts_asked": 1}, {"failures": 2}, "ann"),
        (State.RECOVERING, actions.Launch(), {"version": 2}, {"outages": 2}, "ann"),
        (State.RECOVERING, actions.Launch(), {}, {"failures": 2}, "control plane"),
        (State.SCHEDULING, actions.MarkRunning(), {}, {"failures": 1}, "control plane"),
        (State.SCHEDULING, actions.MarkRunning(), {}, {"outages": 1}, "control plane"),
        (State.CHECKPOINT_STOPPING, actions.Kill(State.STOPPING), {"stop": "checkpoint"}, {}, "control plane"),
        (State.RUNNING, actions.Kill(State.RECOVERING, FLEETING), {}, {}, "control plane"),
        (State.RUNNING, actions.Recover(FLEETING, 1, RETRY_AT), {}, {}, "control plane"),
        (State.RUNNING, actions.GiveUp(FLEETING), {}, {}, "control plane"),
        (State.RUNNING, actions.Finish(), {}, {}, "control plane"),
        (State.CREATED, actions.Launch(), {"asked_by": None}, {}, "control plane"),
    ],
)
def test_a_step_is_of_whoever_has_asked_for_it(
    state: State, action: actions.Action, pipeline: dict[str, Any], job: dict[str, Any], author: str
) -> None:
    record = JobRecord(wanted(**{"asked_by": "ann", **pipeline}), status(state, **job), None)

    assert author_of(record, action) == author
