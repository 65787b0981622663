"""How tests come down to a scan, through the filters and projections above it.

Project price * 2 AS double      double is price * 2, read off the scan
  Filter price > 10              comes down
    Filter url ILIKE '%x'        remains, and lets the others pass, since it cannot fail
      Scan bids
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from engine.plan.expressions.conjuncts import all_of, cannot_fail, conjuncts_of
from engine.plan.expressions.expr import Column, Expr, columns_of, substitute
from engine.plan.hidden import EVENT_TIME, is_hidden
from engine.plan.nodes import Filter, Project, Scan
from engine.plan.placement.fusable import is_fusable
from engine.plan.tree import Node
from engine.types import TIMESTAMP

Chain: TypeAlias = Sequence[Filter | Project]
"""Filters and projections above a scan, the top first."""


def chain_of(node: Node) -> tuple[Chain, Node]:
    """The filters and projections at the top of a tree, and what they read."""
    chain: list[Filter | Project] = []
    while isinstance(node, Filter | Project):
        chain.append(node)
        node = node.input
    return chain, node


def descended(chain: Chain, scan: Scan) -> Descent:
    """Return what can be pushed down to the scan. Nothing can if rows are retractions, or if columns could be taken for
    hidden ones."""
    descent = Descent.to(scan)
    descent.is_open = not scan.is_changes and not any(map(is_hidden, scan.columns.names))
    for step in reversed(chain):
        match step:
            case Filter(_, condition):
                remaining = all_of(descent.take(conjuncts_of(condition)))
                if remaining is not None:
                    descent.steps.append(replace(step, condition=remaining))
            case Project():
                descent.pass_through(step)
                descent.steps.append(step)
    return descent


@dataclass(slots=True)
class Descent:
    """Tests on their way down to a scan. `values` has what each column is, read off the scan, where that may be
    computed in the task; `moved` are the tests that have come through, `steps` what remains above them, the lowest
    first; it `is_open` until something is met that none may pass."""

    values: dict[str, Expr]
    moved: list[Expr] = field(default_factory=list)
    steps: list[Filter | Project] = field(default_factory=list)
    is_open: bool = True

    @classmethod
    def to(cls, scan: Scan) -> Descent:
        """One that begins at a scan."""
        time = Column(EVENT_TIME, TIMESTAMP, nullable=False)
        columns = {field.name: Column(field.name, field.type, field.nullable) for field in scan.columns}
        return cls({**columns, EVENT_TIME: time})

    @property
    def condition(self) -> Expr | None:
        """All tests that have come through; None without any."""
        return all_of(self.moved)

    def take(self, tests: Sequence[Expr]) -> list[Expr]:
        """Move those of the tests of a filter that may move; the others remain."""
        remaining = [test for test in tests if not (self.is_open and self._is_movable(test))]
        if any(not cannot_fail(test) or self._reads_unknown(test) for test in remaining):
            self.is_open = False
            return list(tests)
        self.moved += [substitute(test, self.values) for test in tests if test not in remaining]
        return remaining

    def pass_through(self, project: Project) -> None:
        """Go on above a projection."""
        values = {EVENT_TIME: self.values[EVENT_TIME]}
        for named in project.columns:
            value = None if self._reads_unknown(named.expr) else substitute(named.expr, self.values)
            if is_hidden(named.name) or not (cannot_fail(named.expr) or (value is not None and is_fusable(value))):
                self.is_open = False
            if value is not None and is_fusable(value):
                values[named.name] = value
        self.values = values

    def read_off(self, expr: Expr) -> Expr | None:
        """The expression read off the scan; None where the task cannot compute it."""
        if self._reads_unknown(expr):
            return None
        value = substitute(expr, self.values)
        return value if is_fusable(value) else None

    def _is_movable(self, test: Expr) -> bool:
        return bool(columns_of(test)) and not self._reads_unknown(test) and is_fusable(substitute(test, self.values))

    def _reads_unknown(self, expr: Expr) -> bool:
        return not columns_of(expr) <= self.values.keys()
