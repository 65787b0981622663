"""Commands to a driver, in the response to its report. They follow from the job's state, so they are repeated until
obeyed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.jobs.decisions.states import State, StopMode
from engine.jobs.decisions.status import Status


@dataclass(frozen=True, slots=True)
class Order:
    """Command to stop: after all read rows are output, after the current epoch, or immediately."""

    mode: Literal["graceful", "checkpoint", "immediate"]


def orders(status: Status, stop: StopMode) -> tuple[Order, ...]:
    """Return the commands for the newest run of a job in this state, with this desired stop."""
    match status.state:
        case State.CHECKPOINT_STOPPING if stop == "graceful":
            return (Order("graceful"),)
        case State.CHECKPOINT_STOPPING | State.RESCALING:
            return (Order("checkpoint"),)
        case State.STOPPING | State.RECOVERING:
            return (Order("immediate"),)
    return ()
