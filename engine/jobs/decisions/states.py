"""States of a job: their descriptions, and the transitions between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

StopMode = Literal["none", "checkpoint", "graceful", "immediate", "force"]
"""How a job stops: `none` means it runs, `checkpoint` ends after the current epoch, `graceful` after all read rows are
output as far as watermarks permit, `immediate` aborts the epoch, `force` kills the process."""


class State(StrEnum):
    """State of a job."""

    CREATED = "Created"
    SCHEDULING = "Scheduling"
    RUNNING = "Running"
    CHECKPOINT_STOPPING = "CheckpointStopping"
    STOPPING = "Stopping"
    STOPPED = "Stopped"
    RESCALING = "Rescaling"
    RECOVERING = "Recovering"
    FINISHED = "Finished"
    FAILED = "Failed"

    @property
    def is_terminal(self) -> bool:
        """Whether nothing happens without another request."""
        return STATES[self].terminal


@dataclass(frozen=True, slots=True)
class Meaning:
    """Description of a state for users; `next_stop` is the stop mode of its button, None for no button."""

    text: str
    action_text: str
    next_stop: StopMode | None = None
    terminal: bool = False
    in_progress: bool = False


STATES: Mapping[State, Meaning] = {
    State.CREATED: Meaning("The pipeline is stored; its first driver has not been started yet.", "Stop", "checkpoint"),
    State.SCHEDULING: Meaning(
        "A driver is being started; it runs once an epoch is committed, or there is nothing to read.",
        "Stop",
        "checkpoint",
        in_progress=True,
    ),
    State.RUNNING: Meaning("The driver reads, computes and writes.", "Stop", "checkpoint"),
    State.CHECKPOINT_STOPPING: Meaning("The driver finishes what it has begun and ends.", "Stopping", in_progress=True),
    State.STOPPING: Meaning("The driver ends without finishing the current epoch.", "Stopping", in_progress=True),
    State.STOPPED: Meaning(
        "The job rests; its state is kept, and it can go on from there.", "Start", "none", terminal=True
    ),
    State.RESCALING: Meaning(
        "The job's state is being laid out for another parallelism.", "Rescaling", in_progress=True
    ),
    State.RECOVERING: Meaning("The driver has failed and is started again after a pause.", "Stop", "checkpoint"),
    State.FINISHED: Meaning("The input has ended and everything is written.", "Finished", terminal=True),
    State.FAILED: Meaning("The job has failed and does not start again by itself.", "Start", "none", terminal=True),
}

TRANSITIONS: Mapping[State, frozenset[State]] = {
    State.CREATED: frozenset({State.SCHEDULING, State.STOPPED}),
    State.SCHEDULING: frozenset(
        {
            State.RUNNING,
            State.CHECKPOINT_STOPPING,
            State.STOPPING,
            State.STOPPED,
            State.RESCALING,
            State.RECOVERING,
            State.FINISHED,
            State.FAILED,
        }
    ),
    State.RUNNING: frozenset(
        {
            State.CHECKPOINT_STOPPING,
            State.STOPPING,
            State.STOPPED,
            State.RESCALING,
            State.RECOVERING,
            State.FINISHED,
            State.FAILED,
        }
    ),
    State.CHECKPOINT_STOPPING: frozenset(
        {State.STOPPING, State.STOPPED, State.SCHEDULING, State.RESCALING, State.FINISHED, State.FAILED}
    ),
    State.STOPPING: frozenset({State.STOPPED, State.SCHEDULING, State.RESCALING, State.FINISHED, State.FAILED}),
    State.STOPPED: frozenset({State.SCHEDULING, State.RESCALING}),
    State.RESCALING: frozenset(
        {
            State.SCHEDULING,
            State.CHECKPOINT_STOPPING,
            State.STOPPING,
            State.STOPPED,
            State.RECOVERING,
            State.FINISHED,
            State.FAILED,
        }
    ),
    State.RECOVERING: frozenset({State.SCHEDULING, State.RESCALING, State.STOPPED, State.FINISHED, State.FAILED}),
    State.FINISHED: frozenset({State.SCHEDULING, State.RESCALING}),
    State.FAILED: frozenset({State.SCHEDULING, State.RESCALING}),
}
"""Successors of each state. Staying is always allowed."""


def may_follow(before: State, after: State) -> bool:
    """Whether a job may change from one state to the other."""
    return before is after or after in TRANSITIONS[before]
