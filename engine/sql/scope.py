"""Which columns a name can mean at some place in a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from engine import types
from engine.errors import AmbiguousColumnError, EngineError, UnknownColumnError, UnknownTableError
from engine.plan.expr import Column, Expr, Member
from engine.plan.tree import Node


@dataclass(frozen=True, slots=True)
class Relation:
    """The rows of a table or a query, and those of their columns that nobody gave a name."""

    rows: Node
    unnamed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Visible:
    """A column in reach, under the name of its table or alias. `alias` is what it is called, where the plan calls it
    something else; a `hidden` one is reached only with the name of its table. An `unnamed` one, such as a window
    without an alias, gives way to columns that were given its name."""

    table: str | None
    column: Column
    alias: str | None = None
    hidden: bool = False
    unnamed: bool = False

    @property
    def name(self) -> str:
        """What a script calls it."""
        return self.column.name if self.alias is None else self.alias


@dataclass(frozen=True, slots=True)
class Scope:
    """The columns in reach, in order."""

    columns: tuple[Visible, ...] = ()
    around: Scope | None = None
    """What a sub-query sees of the query around it, where it has no such name itself."""

    @property
    def shown(self) -> tuple[Visible, ...]:
        """Those that a name without a table, or a star, can mean."""
        return tuple(one for one in self.columns if not one.hidden)

    def resolve(self, parts: Sequence[str]) -> Expr:
        """What a dotted name means: table and column, or column, each followed by members of structs."""
        try:
            return self._own(parts)
        except UnknownColumnError:
            if self.around is None or not (self.around.has(parts[0]) or self.around.has_table(parts)):
                raise
            return self.around.resolve(parts)

    def has(self, name: str) -> bool:
        """Whether a column of that name can be reached."""
        return any(_same(one.name, name) for one in self.shown) or (self.around is not None and self.around.has(name))

    def has_table(self, parts: Sequence[str]) -> bool:
        """Whether a dotted name begins with that of a table."""
        if len(parts) > 1 and any(_same(one.table, parts[0]) for one in self.columns):
            return True
        return self.around is not None and self.around.has_table(parts)

    def _own(self, parts: Sequence[str]) -> Expr:
        if len(parts) > 1:
            owned = [one.column for one in self.columns if _same(one.table, parts[0]) and _same(one.name, parts[1])]
            if owned:
                return _members(owned[0], parts[2:])
        columns = [visible for visible in self.shown if _same(visible.name, parts[0])]
        if len(columns) > 1:
            columns = [visible for visible in columns if not visible.unnamed] or columns
        if len(columns) > 1:
            owners = ", ".join(sorted(str(visible.table) for visible in columns))
            raise AmbiguousColumnError(
                f"column {parts[0]!r} is in more than one of the tables: {owners}", hint="write table.column"
            )
        if not columns:
            raise self._unknown(parts)
        return _members(columns[0].column, parts[1:])

    def of_table(self, table: str) -> tuple[Visible, ...]:
        """All columns of one table or alias; refused when there is no such table here."""
        found = tuple(one for one in self.columns if _same(one.table, table))
        if not found:
            tables = ", ".join(sorted({one.table for one in self.columns if one.table}))
            raise UnknownTableError(f"there is no table {table!r} in FROM", hint=f"there is {tables}")
        return found

    def _unknown(self, parts: Sequence[str]) -> EngineError:
        tables = {one.table.lower() for one in self.columns if one.table}
        name = parts[1] if len(parts) > 1 and parts[0].lower() in tables else parts[0]
        names = [one.name for one in self.shown]
        near = get_close_matches(name, names, n=1)
        listing = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
        hint = f"did you mean {near[0]!r}?" if near else f"there is {listing}" if names else "there is no table in FROM"
        return UnknownColumnError(f"no column {name!r} here", hint=hint)


def scope_of(relation: Relation, table: str | None) -> Scope:
    """The columns of a relation, in reach under a table's name."""
    return Scope(
        tuple(
            Visible(table, Column(field.name, field.type, field.nullable), unnamed=field.name in relation.unnamed)
            for field in relation.rows.schema
        )
    )


def _members(expr: Expr, names: Sequence[str]) -> Expr:
    for name in names:
        expr = member_of(expr, name)
    return expr


def member_of(expr: Expr, name: str) -> Expr:
    """One member of a struct-valued expression."""
    if not isinstance(expr.type, types.Struct):
        raise UnknownColumnError(f"{name!r} is asked of a value of type {expr.type}, which has no members")
    found = next((one for one in expr.type.members if _same(one.name, name)), None)
    if found is None:
        listing = ", ".join(one.name for one in expr.type.members)
        raise UnknownColumnError(f"no member {name!r} in {expr.type}", hint=f"it has {listing}")
    return Member(expr, found.name, found.type)


def _same(one: str | None, other: str) -> bool:
    return one is not None and one.lower() == other.lower()
