"""Decide whether a planned change is allowed: it must not be refused, and its losses must be accepted.

    plan 3f0c loses nothing                       allowed
    plan 88aa loses a window, 88aa is accepted    allowed
    plan 88aa loses a window, 3f0c is accepted    not allowed: another plan was accepted
    plan 99bb is refused, 99bb is accepted        not allowed: the result would be wrong

A control plane decides this before it stops anything, and the run decides it again for the state at that time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class PlannedChange(Protocol):
    """Facts about a plan that the decision needs."""

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
    """How the reader of a refusal can accept a loss: the words for naming it, for accepting a plan, and other
    remedies."""

    reset: str
    accept_loss: str
    otherwise: str


@dataclass(frozen=True, slots=True)
class RefusedChange:
    """Reason why a change is not allowed, and the remedy."""

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
