"""Joins in FROM: which rows meet, and which kind of join that takes.

The columns of both sides get different names before they are joined; a scope remembers what the user calls them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal, cast

from sqlglot import exp

from engine import types
from engine.connectors.base import Table
from engine.errors import EngineError, JoinError, TextPosition, WindowMismatchError
from engine.plan.conditions import split_condition
from engine.plan.expr import Call, Cast, Column, Expr, Named, columns_of, is_nullable
from engine.plan.nodes import (
    JoinKind,
    LookupJoin,
    Project,
    Session,
    UpdatingJoin,
    WindowJoin,
    window_of,
)
from engine.plan.nodes.joins import Pair
from engine.plan.nodes.updating import is_updating
from engine.plan.tree import Node
from engine.schema import Schema
from engine.sql.query.filters import all_of
from engine.sql.query.windows import describe
from engine.sql.scalar.expressions import Expressions, make_call
from engine.sql.scope import Relation, Scope, Visible, scope_of
from engine.sql.text.parse import Script

_WRONG_SIDE = "lookup sources must be on the right side of an inner or left join"


@dataclass(frozen=True, slots=True)
class LookupTable:
    """A table whose rows are looked up by the values of one column, its primary key."""

    table: Table
    columns: Schema
    key: str | None


@dataclass(frozen=True, slots=True)
class Columns(Node):
    """Columns without rows, to resolve names in."""

    columns: Schema

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self.columns


@dataclass(frozen=True, slots=True)
class Side:
    """A relation in FROM, and what its columns are called there."""

    node: Node
    scope: Scope


@dataclass(frozen=True, slots=True)
class Matching:
    """What must hold for two rows to meet."""

    equal: tuple[Pair, ...]
    condition: Expr | None


@dataclass(frozen=True, slots=True)
class Joining:
    """Builds one join. `where` are the conditions of WHERE that a join without ON may take its equalities from."""

    script: Script
    node: exp.Join
    where: Sequence[exp.Expr]
    ttl: timedelta

    @property
    def _at(self) -> TextPosition | None:
        return self.script.position(self.node.this)

    def join(self, left: Side, right: Side) -> Side:
        """Both sides joined, by windows when they have them, else for all time."""
        kind = self._kind()
        self._refuse_same_name(left, right)
        right = apart(right, left)
        matching = self._matching(left, right)
        joined = choose_join(left.node, right.node, kind, matching, self.ttl, self._at)
        side = Side(joined, Scope((*left.scope.columns, *right.scope.columns)))
        return self._merged(as_joined(side), left, right, kind)

    def look_up(self, left: Side, right: LookupTable, alias: str) -> Side:
        """The rows of the left, each with what the table has for its key."""
        kind = self.node.side.upper() or self._word or "INNER"
        if kind not in ("LEFT", "INNER", "CROSS"):
            raise JoinError(
                f"{kind.lower()} join is not supported for lookup tables; must be a left or inner join", at=self._at
            )
        if is_updating(left.node):
            raise JoinError(
                "a lookup join cannot follow rows that are taken back, which might find another row then",
                hint="look up first, and aggregate what was found",
                at=self._at,
            )
        columns = Columns(right.columns)
        found = scope_of(Relation(columns), alias)
        side = Side(columns, found)
        self._refuse_same_name(left, side)
        left = apart(left, side)
        key = self._lookup_key(self._matching(left, side), right)
        chosen: Literal["inner", "left"] = "left" if kind == "LEFT" else "inner"
        joined = LookupJoin(left.node, right.table.name, right.columns, chosen, key)
        both = Side(joined, Scope((*left.scope.columns, *found.columns)))
        return self._merged(as_joined(both), left, side, chosen)

    @property
    def _word(self) -> str:
        word = self.node.kind.upper()
        return "" if word == "OUTER" else word

    def _kind(self) -> JoinKind:
        method = str(self.node.method or "").upper()
        if method not in ("", "NATURAL") or self._word not in ("", "INNER", "CROSS"):
            words = " ".join(one for one in (method, self.node.side.upper(), self._word) if one)
            raise JoinError(f"{words} JOIN is not supported", hint="use inner, left, right or full", at=self._at)
        return cast("JoinKind", self.node.side.lower() or "inner")

    def _refuse_same_name(self, left: Side, right: Side) -> None:
        taken = {one.table.lower() for one in left.scope.columns if one.table}
        twice = next((one.table for one in right.scope.columns if one.table and one.table.lower() in taken), None)
        if twice is not None:
            raise JoinError(f"{twice!r} stands in FROM twice", hint="give one of them an alias", at=self._at)

    def _using(self, left: Scope, right: Scope) -> list[str]:
        """The names of the columns that both sides share and that the join names or means."""
        if str(self.node.method or "").upper() != "NATURAL":
            return [one.name for one in self.node.args.get("using") or []]
        there = {one.name.lower() for one in right.shown}
        return [one.name for one in left.shown if one.name.lower() in there]

    def _matching(self, left: Side, right: Side) -> Matching:
        both = Scope((*left.scope.columns, *right.scope.columns))
        using, on = self._using(left.scope, right.scope), self.node.args.get("on")
        tests = [make_call("=", [left.scope.resolve([name]), right.scope.resolve([name])]) for name in using]
        if on is not None:
            tests += conjuncts(Expressions(self.script, both).condition(on))
        elif not using and self.node.side:
            raise JoinError("can't handle join constraint other than ON", hint="write ON a.x = b.x", at=self._at)
        elif not using:
            tests += self._from_where(left, right, both)
        return matching_of(tests, left.node, right.node)

    def _from_where(self, left: Side, right: Side, both: Scope) -> list[Expr]:
        """The equalities between the two sides among the conditions of WHERE, which hold above the join as well."""
        found: list[Expr] = []
        for node in self.where:
            try:
                test = Expressions(self.script, both).translate(node)
            except EngineError:
                continue  # it may be about a table that is joined later; WHERE itself will tell
            if _pair(test, left.node, right.node) is not None:
                found.append(test)
        return found

    def _lookup_key(self, matching: Matching, right: LookupTable) -> Expr:
        if matching.condition is not None or not matching.equal:
            raise JoinError(
                "filter join conditions are not supported for lookup joins; must have an equality condition",
                hint="write ON stream.column = table.key, and conditions into WHERE",
                at=self._at,
            )
        if len(matching.equal) > 1:
            raise JoinError("multiple filters found in lookup join", hint="name the key alone", at=self._at)
        key, found = matching.equal[0]
        match found:
            case Cast(Column(name, types.Integer() as kind), types.Integer()):
                key = Cast(key, kind, lenient=True)  # a number beyond the key's type is no key
            case Column(name):
                pass
            case _:
                raise JoinError(
                    "invalid right-side condition for lookup join: it must be the column alone",
                    hint="compute on the left side",
                    at=self._at,
                )
        if right.key is None or name.lower() != right.key.lower():
            raise JoinError(
                f"the right-side of a look-up join condition must be a PRIMARY KEY column, but '{name}' is not",
                hint=f"the primary key is {right.key}" if right.key else "declare one of its columns PRIMARY KEY",
                at=self._at,
            )
        return key

    def _merged(self, side: Side, left: Side, right: Side, kind: JoinKind) -> Side:
        """The columns of USING once, and first; each side's own are still there under the side's name."""
        names = self._using(left.scope, right.scope)
        if not names:
            return side
        shown: list[Visible] = []
        covered: set[str] = set()
        computed: list[Named] = []
        for name in names:
            pair = [_own(one.scope, name, side.scope) for one in (left, right)]
            covered |= {one.column.name for one in pair}
            if kind == "full":
                value = make_call("coalesce", [one.column for one in pair])
                fresh = _fresh(name, {*side.node.schema.names, *(one.name for one in computed)})
                computed.append(Named(fresh, value))
                shown.append(Visible(None, Column(fresh, value.type, is_nullable(value)), name))
            else:
                kept = pair[1] if kind == "right" else pair[0]
                shown.append(Visible(None, kept.column, name))
        own = [replace(one, hidden=one.hidden or one.column.name in covered) for one in side.scope.columns]
        node = side.node
        if computed:
            node = Project(node, (*(Named(one.name, _as_column(one)) for one in node.schema), *computed))
        return Side(node, Scope((*shown, *own)))


def choose_join(
    left: Node, right: Node, kind: JoinKind, matching: Matching, ttl: timedelta, at: TextPosition | None
) -> Node:
    """The join that two relations take: within the window of both, or for all time when neither has one."""
    first, second = window_of(left), window_of(right)
    if first is None and second is None:
        if not matching.equal:
            raise JoinError("Updating joins must include an equijoin condition", hint="write ON a.x = b.x", at=at)
        if kind != "inner" and matching.condition is not None:
            _refuse_uncomputable(left, right, matching.condition, at)
        return UpdatingJoin(left, right, kind, matching.equal, matching.condition, ttl)
    if first is None or second is None:
        words = ["non-windowed" if one is None else "windowed" for one in (first, second)]
        raise WindowMismatchError(
            f"can't handle mixed windowing between left ({words[0]}) and right ({words[1]}).",
            hint="aggregate both sides by the same window, or neither",
            at=at,
        )
    if first[0] != second[0]:
        raise WindowMismatchError(
            f"can't join rows of different windows: {describe(first[0])} and {describe(second[0])}",
            hint="aggregate both sides by the same window",
            at=at,
        )
    windows = None if first[1] is None or second[1] is None else (first[1], second[1])
    if windows is None and isinstance(first[0], Session):
        raise WindowMismatchError(
            "sessions are joined by their window, which one side does not pass on",
            hint="select the window in both inner queries",
            at=at,
        )
    same = windows is not None and {Column(one, types.WINDOW, nullable=False) for one in windows}
    equal = tuple(pair for pair in matching.equal if set(pair) != same)
    return WindowJoin(left, right, kind, windows, equal, matching.condition)


def _refuse_uncomputable(left: Node, right: Node, condition: Expr, at: TextPosition | None) -> None:
    if split_condition(condition, left.schema, right.schema) is None:
        raise JoinError(
            "this condition is too intricate for a join without windows that is not an inner one",
            hint="compute what it needs of each side in a column of its own, and compare those",
            at=at,
        )


def refuse_lookup(name: str, *, is_joined: bool) -> JoinError:
    """Why a lookup table cannot be read as if it were a stream."""
    message = _WRONG_SIDE if is_joined else "lookup tables must be used directly within a join"
    return JoinError(message, hint=f"write FROM stream JOIN {name} ON stream.column = {name}.key")


def _as_column(field: object) -> Column:
    return Column(field.name, field.type, field.nullable)  # type: ignore[attr-defined]


def _own(scope: Scope, name: str, joined: Scope) -> Visible:
    """The column of one side that a name of USING means, as it is after the join."""
    found = scope.resolve([name])
    assert isinstance(found, Column)
    return next(one for one in joined.columns if one.column.name == found.name)


def conjuncts(expr: Expr) -> list[Expr]:
    """The conditions that must all hold for one to hold."""
    if isinstance(expr, Call) and expr.function == "and":
        return [part for argument in expr.arguments for part in conjuncts(argument)]
    return [expr]


def matching_of(tests: Sequence[Expr], left: Node, right: Node) -> Matching:
    """The equalities between two relations among some tests, and all other tests as a condition."""
    found = [(test, _pair(test, left, right)) for test in tests]
    rest = [test for test, pair in found if pair is None]
    return Matching(tuple(pair for _, pair in found if pair is not None), all_of(rest))


def _pair(test: Expr, left: Node, right: Node) -> Pair | None:
    """The two sides of an equality between the left and the right input."""
    if not isinstance(test, Call) or test.function != "=":
        return None
    one, other = test.arguments
    if _is_of(one, left) and _is_of(other, right):
        return one, other
    if _is_of(other, left) and _is_of(one, right):
        return other, one
    return None


def _is_of(expr: Expr, side: Node) -> bool:
    names = columns_of(expr)
    return bool(names) and names <= set(side.schema.names)


def apart(side: Side, other: Side) -> Side:
    """The side with columns renamed where the other has one of the same name."""
    taken = {name.lower() for name in other.node.schema.names}
    if not any(name.lower() in taken for name in side.node.schema.names):
        return side
    used = {*other.node.schema.names, *side.node.schema.names}
    names: dict[str, str] = {}
    for name in side.node.schema.names:
        names[name] = _fresh(name, used) if name.lower() in taken else name
        used.add(names[name])
    columns = tuple(Named(names[one.name], _as_column(one)) for one in side.node.schema)
    shown = tuple(
        replace(one, column=replace(one.column, name=names[one.column.name]), alias=one.name)
        for one in side.scope.columns
    )
    return Side(Project(side.node, columns), Scope(shown))


def _fresh(name: str, used: Iterable[str]) -> str:
    taken, number = {one.lower() for one in used}, 2
    while f"{name}_{number}".lower() in taken:
        number += 1
    return f"{name}_{number}"


def as_joined(side: Side) -> Side:
    """The names again, with columns that may be missing marked as such."""
    nullable = {field.name: field.nullable for field in side.node.schema}
    columns = tuple(
        replace(one, column=replace(one.column, nullable=nullable[one.column.name])) for one in side.scope.columns
    )
    return Side(side.node, Scope(columns))
