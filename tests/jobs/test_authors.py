from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from engine.jobs.actors import JobRecord, author_of
from engine.jobs.decisions import observe
from engine.jobs.decisions.states import State
from tests.jobs.builders import FLEETING, T0, status, wanted

RETRY_AT: datetime = T0


@pytest.mark.parametrize(
    ("state", "action", "pipeline", "job", "author"),
    [
        (State.CREATED, observe.Launch(), {}, {}, "ann"),
        (State.SCHEDULING, observe.MarkRunning(), {}, {}, "ann"),
        (State.RUNNING, observe.Drain(State.CHECKPOINT_STOPPING), {"stop": "checkpoint"}, {}, "ann"),
        (State.CHECKPOINT_STOPPING, observe.MarkStopped(), {"stop": "checkpoint"}, {}, "ann"),
        (State.RUNNING, observe.Kill(State.STOPPING), {"stop": "force"}, {}, "ann"),
        (State.RUNNING, observe.Kill(State.STOPPING), {"restart_now": True, "restarts_asked": 1}, {}, "ann"),
        (State.RESCALING, observe.Repartition(4), {"parallelism": 4}, {}, "ann"),
        (State.RECOVERING, observe.Launch(), {"restarts_asked": 1}, {"failures": 2}, "ann"),
        (State.RECOVERING, observe.Launch(), {"version": 2}, {"outages": 2}, "ann"),
        (State.RECOVERING, observe.Launch(), {}, {"failures": 2}, "control plane"),
        (State.SCHEDULING, observe.MarkRunning(), {}, {"failures": 1}, "control plane"),
        (State.SCHEDULING, observe.MarkRunning(), {}, {"outages": 1}, "control plane"),
        (State.CHECKPOINT_STOPPING, observe.Kill(State.STOPPING), {"stop": "checkpoint"}, {}, "control plane"),
        (State.RUNNING, observe.Kill(State.RECOVERING, FLEETING), {}, {}, "control plane"),
        (State.RUNNING, observe.Recover(FLEETING, 1, RETRY_AT), {}, {}, "control plane"),
        (State.RUNNING, observe.GiveUp(FLEETING), {}, {}, "control plane"),
        (State.RUNNING, observe.Finish(), {}, {}, "control plane"),
        (State.CREATED, observe.Launch(), {"asked_by": None}, {}, "control plane"),
    ],
)
def test_a_step_is_of_whoever_has_asked_for_it(
    state: State, action: observe.Action, pipeline: dict[str, Any], job: dict[str, Any], author: str
) -> None:
    record = JobRecord(wanted(**{"asked_by": "ann", **pipeline}), status(state, **job), None)

    assert author_of(record, action) == author
