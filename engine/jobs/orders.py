"""The orders of a driver that calls home. They follow from the job's state, so they are repeated until obeyed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.jobs.states import State
from engine.jobs.status import Status


@dataclass(frozen=True, slots=True)
class Order:
    """Stop, finishing the epoch in hand or not."""

    mode: Literal["checkpoint", "immediate"]


def orders(status: Status) -> tuple[Order, ...]:
    """The orders for the newest run of a job in this state."""
    match status.state:
        case State.CHECKPOINT_STOPPING | State.RESCALING:
            return (Order("checkpoint"),)
        case State.STOPPING | State.RECOVERING:
            return (Order("immediate"),)
    return ()
