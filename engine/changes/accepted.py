"""Whether a change may be done that was planned: not one that is refused, nor one that loses what nobody has accepted.

    plan 3f0c loses nothing                       may be done
    plan 88aa loses a window, 88aa is accepted    may be done
    plan 88aa loses a window, 3f0c is accepted    may not: that was another plan
    plan 99bb is refused, 99bb is accepted        may not: what is refused would give a wrong answer

A control plane decides so before it stops anything, and a run once more of the state as it is then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class PlannedChange(Protocol):
    """What is to be known of a plan."""

    @property
    def id(self) -> str:
        """Stands for all that the plan says."""

    @property
    def is_refused(self) -> bool:
        """Whether any of it cannot be done."""

    @property
    def loses_nothing(self) -> bool:
        """Whether it can be done, and nothing is lost by it."""


@dataclass(frozen=True, slots=True)
class Wording:
    """How whoever reads a refusal says what may be lost: the words for naming it, for accepting a plan, and what else
    there is to do."""

    reset: str
    accept_loss: str
    otherwise: str


@dataclass(frozen=True, slots=True)
class RefusedChange:
    """Why a change may not be done, and what to do about it."""

    message: str
    hint: str


def why_not(plan: PlannedChange, accepted: str | None, shown: str, wording: Wording) -> RefusedChange | None:
    """Why a change may not be done of which the plan `accepted` was accepted; None where it may. `shown` is the plan as
    people read it."""
    if plan.is_refused:
        message = f"the query cannot take over the existing state\n{shown}"
        return RefusedChange(message, f"name with {wording.reset} what may be given up; or {wording.otherwise}")
    if plan.loses_nothing or accepted == plan.id:
        return None
    message = f"something would be lost, and the loss is not accepted\n{shown}"
    return RefusedChange(message, f"{wording.accept_loss} {plan.id} accepts all that this plan says is lost")
