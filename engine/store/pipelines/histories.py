"""Epochs of earlier lineages that are part of the current state.

lineage c from epoch 9 on, which descends from a at 8
of a                   epochs up to 8; of c all
b, from a at 3, at 5   none of b: the state was reset to before it began
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Column, ColumnElement, and_, false, or_

from engine.checkpoints.lineage import KEPT_PARENTS


@dataclass(frozen=True, slots=True)
class History:
    """A lineage, its first epoch, and its ancestors, nearest first, each with the last epoch that was taken over; None
    if unknown."""

    id: str
    first_epoch: int
    parents: Sequence[tuple[str, int]] | None = None

    def lacks(self, lineage: Column[str], epoch: Column[int]) -> ColumnElement[bool]:
        """Whether an epoch does not belong to this lineage, as far as that is known."""
        is_other = lineage.is_distinct_from(self.id)
        comes_again = epoch >= self.first_epoch
        if self.parents is None:
            return and_(is_other, comes_again)
        is_parent = lineage.in_([parent for parent, _ in self.parents])
        is_kept = or_(false(), *(and_(lineage == parent, epoch <= last) for parent, last in self.parents))
        # where as many are named as ever are, it may have come from further ones
        left = ~is_kept if len(self.parents) < KEPT_PARENTS else and_(is_parent, ~is_kept)
        return and_(is_other, or_(comes_again, left))
