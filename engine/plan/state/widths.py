"""Plans without the widths of their numbers, to compare two scripts whose types differ.

    old   sum(CAST(clicks.n AS BIGINT)), n INT          sum(clicks.n.⟦i32⟧)
    new   sum(clicks.n), n BIGINT                       sum(clicks.n.⟦i64⟧)      the same, with wider numbers

The number of each column, and of each narrowing cast, gets a mark with its width; widening casts and the widths of
constants and results are dropped. If two texts are equal without their marks, and no mark of the second is narrower,
the second has every value of the first for the same row. This holds for functions whose result does not depend on
width; others are marked with their argument types.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TypeVar

from engine import types
from engine.functions import FUNCTIONS
from engine.plan.expressions.expr import Call, Case, Cast, Column, Expr, Literal, Member, Named
from engine.plan.nodes import Project, Scan
from engine.plan.placement.split import Parts
from engine.plan.state.width_marks import is_wider, mark_of
from engine.plan.tree import Node
from engine.schema import Field
from engine.types import Decimal, Float, Integer, Type

Plain = TypeVar("Plain")
_ALIKE = frozenset({
    "+", "-", "*", "/", "%", "negate", "=", "<>", "<", "<=", ">", ">=", "is_distinct_from", "is_not_distinct_from",
    "and", "or", "not", "is_null", "is_not_null", "coalesce", "nvl", "nvl2", "nullif", "greatest", "least",
    "abs", "between", "in",
})  # fmt: skip
"""Functions whose result does not depend on the width of a number, unless they fail."""
_TEXTUAL = (types.Text, types.Json, types.Boolean, Integer, Float, Decimal)
"""Functions of text of which a cast to a number has the same result in each width, or fails."""


def without_widths(parts: Parts) -> Parts:
    """Return a plan whose numbers have the maximal width, and marks of their actual width."""
    loosening = _Loosening()
    return replace(parts, branches=tuple(loosening.node(branch) for branch in parts.branches))


def _wide(kind: Type) -> Type:
    match kind:
        case Integer():
            return types.BIGINT
        case Float():
            return types.DOUBLE
        case Decimal(_, scale):
            return Decimal(38, scale)
    return kind


def _mark(expr: Expr, kind: Type) -> Expr:
    """Return a number with a mark of its width."""
    name = mark_of(kind)
    return expr if name is None else Member(expr, name, _wide(kind))


def _expr(expr: Expr) -> Expr:
    match expr:
        case Column(name, kind, nullable):
            return _mark(Column(name, _wide(kind), nullable), kind)
        case Literal(value, kind):
            return Literal(value, _wide(kind))
        case Cast(inner, kind, lenient):
            return _cast(inner, kind, lenient=lenient)
        case Case(branches, default, kind):
            loosened = tuple((_expr(test), _expr(value)) for test, value in branches)
            return Case(loosened, None if default is None else _expr(default), _wide(kind))
        case Member(inner, name, kind):
            return Member(_expr(inner), name, kind)
        case Call(_, arguments, kind, nullable, when):
            loosened_when = None if when is None else _expr(when)
            return Call(_name(expr), tuple(map(_expr, arguments)), _wide(kind), nullable, loosened_when)


def _cast(inner: Expr, kind: Type, *, lenient: bool) -> Expr:
    if is_wider(inner.type, kind):
        return _expr(inner)
    if lenient or not isinstance(kind, Integer | Decimal) or not isinstance(inner.type, _TEXTUAL):
        return Cast(_expr(inner), kind, lenient)
    is_narrower = is_wider(kind, inner.type)
    return _mark(_expr(inner) if is_narrower else Cast(_expr(inner), _wide(kind)), kind)


def _name(call: Call) -> str:
    """Return the name of a function for comparison. It includes the scale of the result if that follows from the
    widths, and the argument types if wider ones could select another function."""
    if call.function in _ALIKE:
        return f"{call.function}@{call.type.scale}" if isinstance(call.type, Decimal) else call.function
    if call.function not in FUNCTIONS:
        return call.function
    kinds = [part.type for part in call.arguments]
    return f"{call.function}<{', '.join(map(str, kinds))}>" if any(map(types.is_number, kinds)) else call.function


def _marked_scan(scan: Scan, loose: Node) -> Node:
    """Return a table whose numbers are marked when they are read, whether or not they are processed further."""
    columns = (Column(field.name, field.type, field.nullable) for field in scan.schema)
    return Project(loose, tuple(Named(column.name, _expr(column)) for column in columns))


@dataclass(slots=True)
class _Loosening:
    """Rewrites a plan; a shared relation stays shared."""

    _known: dict[int, tuple[Node, Node]] = field(default_factory=dict)

    def node(self, node: Node) -> Node:
        """Return a relation without widths."""
        if id(node) not in self._known:
            loose = self._fields_of(node)
            self._known[id(node)] = node, _marked_scan(node, loose) if isinstance(node, Scan) else loose
        return self._known[id(node)][1]

    def _value(self, value: object) -> object:
        match value:
            case Node():
                return self.node(value)
            case Column() | Literal() | Call() | Cast() | Case() | Member():
                return _expr(value)
            case Field(name, kind, nullable):
                return Field(name, _wide(kind), nullable)
            case Type():
                return _wide(value)
            case tuple():
                return tuple(map(self._value, value))
        return self._fields_of(value) if is_dataclass(value) and not isinstance(value, type) else value

    def _fields_of(self, value: Plain) -> Plain:
        changed = {part.name: self._value(getattr(value, part.name)) for part in fields(value)}  # type: ignore[arg-type]
        return replace(value, **changed)  # type: ignore[type-var]
