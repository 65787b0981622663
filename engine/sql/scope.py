"""Resolve column names at a place in a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from engine import types
from engine.errors import AmbiguousColumnError, EngineError, UnknownColumnError, UnknownTableError
from engine.plan.expressions.expr import Column, Expr, Member
from engine.plan.tree import Node


@dataclass(frozen=True, slots=True)
class Relation:
    """Rows of a table or a query, and those of its columns that have no explicit name."""

    rows: Node
    unnamed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Visible:
    """A visible column, with the name of its table or alias. `alias` is its name in the query, if the plan uses another
    one; a `hidden` one needs the name of its table. An `unnamed` one, such as a window without an alias, is shadowed by
    columns with that name."""

    table: str | None
    column: Column
    alias: str | None = None
    hidden: bool = False
    unnamed: bool = False

    @property
    def name(self) -> str:
        """Return the name of the column in the script."""
        return self.column.name if self.alias is None else self.alias


@dataclass(frozen=True, slots=True)
class Scope:
    """Visible columns in order. `outer` is the scope of the surrounding query, for names that are not found here."""

    columns: tuple[Visible, ...] = ()
    outer: Scope | None = None

    @property
    def shown(self) -> tuple[Visible, ...]:
        """Return the columns that a bare name or a star can mean."""
        return tuple(visible for visible in self.columns if not visible.hidden)

    @property
    def tables(self) -> frozenset[str]:
        """The names of the tables in lower case."""
        return frozenset(visible.table.lower() for visible in self.columns if visible.table)

    def resolve(self, parts: Sequence[str]) -> Expr:
        """Resolve a dotted name: table and column, or column, each followed by members of structs."""
        try:
            return self._resolve_here(parts)
        except UnknownColumnError:
            if self.outer is None or not (self.outer.has(parts[0]) or self.outer.has_table(parts)):
                raise
            return self.outer.resolve(parts)

    @property
    def names(self) -> list[str]:
        """Return the possible meanings of a bare name."""
        return [visible.name for visible in self.shown]

    def has(self, name: str) -> bool:
        """Whether a column of that name is visible."""
        is_here = any(_is_same(visible.name, name) for visible in self.shown)
        return is_here or (self.outer is not None and self.outer.has(name))

    def has_table(self, parts: Sequence[str]) -> bool:
        """Whether a dotted name begins with the name of a table."""
        if len(parts) > 1 and any(_is_same(visible.table, parts[0]) for visible in self.columns):
            return True
        return self.outer is not None and self.outer.has_table(parts)

    def columns_of(self, table: str) -> tuple[Visible, ...]:
        """Return all columns of one table or alias; raise if there is no such table here."""
        columns = tuple(visible for visible in self.columns if _is_same(visible.table, table))
        if not columns:
            tables = ", ".join(sorted({visible.table for visible in self.columns if visible.table}))
            raise UnknownTableError(f"there is no table {table!r} in FROM", hint=f"there is {tables}")
        return columns

    def _resolve_here(self, parts: Sequence[str]) -> Expr:
        if len(parts) > 1:
            table, name, *members = parts
            column = self._column_of(table, name)
            if column is not None:
                return _members_of(column, members)
        candidates = self._columns_named(parts[0])
        if len(candidates) > 1:
            tables = ", ".join(sorted(str(visible.table) for visible in candidates))
            raise AmbiguousColumnError(
                f"column {parts[0]!r} is in more than one of the tables: {tables}", hint="write table.column"
            )
        if not candidates:
            raise self._unknown_column(parts)
        return _members_of(candidates[0].column, parts[1:])

    def _column_of(self, table: str, name: str) -> Column | None:
        """Return the first column of that name in a table."""
        columns = (
            visible.column
            for visible in self.columns
            if _is_same(visible.table, table) and _is_same(visible.name, name)
        )
        return next(columns, None)

    def _columns_named(self, name: str) -> list[Visible]:
        """Return the columns that a name without a table may mean; named columns take precedence over unnamed ones."""
        candidates = [visible for visible in self.shown if _is_same(visible.name, name)]
        return [visible for visible in candidates if not visible.unnamed] or candidates

    def _unknown_column(self, parts: Sequence[str]) -> EngineError:
        name = parts[1] if len(parts) > 1 and parts[0].lower() in self.tables else parts[0]
        names = self.names
        near = get_close_matches(name, names, n=1)
        listing = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
        hint = f"did you mean {near[0]!r}?" if near else f"there is {listing}" if names else "there is no table in FROM"
        return UnknownColumnError(f"there is no column {name!r} here", hint=hint)


@dataclass(frozen=True, slots=True)
class ScopedRows:
    """Rows in FROM, and the names of their columns there."""

    rows: Node
    scope: Scope


def scope_of(relation: Relation, table: str | None) -> Scope:
    """Return the columns of a relation, visible under a table's name."""
    return Scope(
        tuple(
            Visible(table, Column(field.name, field.type, field.nullable), unnamed=field.name in relation.unnamed)
            for field in relation.rows.schema
        )
    )


def member_of(expr: Expr, name: str) -> Expr:
    """Return one member of a struct-valued expression."""
    if not isinstance(expr.type, types.Struct):
        raise UnknownColumnError(f"a value of type {expr.type} has no members, and so no {name!r}")
    members = expr.type.members
    member = next((member for member in members if _is_same(member.name, name)), None)
    if member is None:
        listing = ", ".join(member.name for member in members)
        raise UnknownColumnError(f"{expr.type} has no member {name!r}", hint=f"it has {listing}")
    return Member(expr, member.name, member.type)


def _members_of(expr: Expr, names: Sequence[str]) -> Expr:
    for name in names:
        expr = member_of(expr, name)
    return expr


def _is_same(name: str | None, other: str) -> bool:
    return name is not None and name.lower() == other.lower()
