"""Items of a SELECT list, by name and by number."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sqlglot import exp

from engine.errors import ColumnCountError, DuplicateNameError, UnknownColumnError
from engine.plan.expressions.expr import Expr, Named
from engine.schema import Schema
from engine.sql.catalog import errors_located
from engine.sql.data_types import count_columns, usable, usable_list
from engine.sql.query.windows import WINDOW_NAME, is_window_call
from engine.sql.scope import Scope, Visible
from engine.sql.spellings import WRITTEN
from engine.sql.text.dialect import Arroyo
from engine.sql.text.parse import Script


def aliases_of(select: exp.Select, scope: Scope) -> dict[str, exp.Expr]:
    """Return the expressions behind the names of the SELECT list, except names that are columns of the input."""
    input_names = {visible.name.lower() for visible in scope.shown}
    aliases = {item.alias.lower(): item.this for item in select.expressions if isinstance(item, exp.Alias)}
    return {name: value for name, value in aliases.items() if name not in input_names}


def resolve_group_item(item: exp.Expr, select_list: Sequence[exp.Expr], scope: Scope) -> exp.Expr:
    """Return the expression of a GROUP BY item, which may be the number or the name of a selected one."""
    if isinstance(item, exp.Literal) and not item.args.get("is_string"):
        return _numbered_item(item.name, select_list)
    if isinstance(item, exp.Column) and not item.table:
        return _item_with_alias(item.name.lower(), select_list, scope) or item
    return item


def _numbered_item(number: str, select_list: Sequence[exp.Expr]) -> exp.Expr:
    index = int(number) if re.fullmatch("[0-9]{1,9}", number) else 0
    if not 1 <= index <= len(select_list):
        raise ColumnCountError(f"GROUP BY {number} is not the number of a column", hint=f"there are {len(select_list)}")
    return select_list[index - 1].unalias()


def _item_with_alias(name: str, select_list: Sequence[exp.Expr], scope: Scope) -> exp.Expr | None:
    """Return the selected expression of a name; a column of the input takes precedence, but not over a window."""
    selected = next((selected.unalias() for selected in select_list if selected.alias.lower() == name), None)
    is_input = any(visible.name.lower() == name for visible in scope.shown)
    return None if selected is None or (is_input and not is_window_call(selected)) else selected


def names_of_alias(alias: exp.Expr | None, count: int, script: Script) -> list[str]:
    """Return the names that an alias gives to all columns of a relation; none if it names only the relation."""
    names = [part.name for part in alias.args.get("columns") or []] if isinstance(alias, exp.TableAlias) else []
    if not names:
        return []
    with errors_located(script.position(alias)):
        usable_list(names)
    if len(names) != count:
        raise ColumnCountError(
            f"the relation has {count_columns(count)}, and names are given for {len(names)}",
            hint="name every column",
            at=script.position(alias),
        )
    return names


def name_of_item(item: exp.Expr) -> str:
    """Return the column name of a selected expression."""
    if isinstance(item, exp.Alias):
        return usable(str(item.alias))
    if is_window_call(item):
        return WINDOW_NAME
    if isinstance(item, exp.Column | exp.Dot):
        return str(item.expression.name if isinstance(item, exp.Dot) and not item.name else item.name)
    written = item.meta.get(WRITTEN) or item.sql(dialect=Arroyo)
    return " ".join(str(written).lower().split()).replace("${", "$ {")


def read_item(item: exp.Expr, scope: Scope, translate: Callable[[exp.Expr], Expr]) -> list[Named]:
    """Return the columns of an item of a SELECT list: one, or those of a star."""
    columns = _columns_of_star(item, scope)
    if columns is None:
        return [Named(name_of_item(item), translate(item.unalias()))]
    return [Named(visible.name, visible.column) for visible in columns]


def unnamed_columns(select: exp.Select, scope: Scope) -> frozenset[str]:
    """Return the unnamed columns of a SELECT: those computed without an alias, and those of its input that a star
    passes on. A column has its own name, and so has a member of a struct."""
    is_unnamed: dict[str, bool] = {}
    for item in select.expressions:
        columns = _columns_of_star(item, scope)
        if columns is None:
            is_unnamed.setdefault(name_of_item(item), not isinstance(item, exp.Alias | exp.Column | exp.Dot))
        for visible in columns or ():
            is_unnamed.setdefault(visible.name, visible.unnamed)
    return frozenset(name for name, unnamed in is_unnamed.items() if unnamed)


def with_unique_names(columns: Sequence[Named]) -> tuple[Named, ...]:
    """Return columns with a number after each name that is taken already."""
    counts: dict[str, int] = {}
    unique: list[Named] = []
    for column in columns:
        count = counts.get(column.name.lower(), 0)
        counts[column.name.lower()] = count + 1
        unique.append(Named(f"{column.name}:{count}", column.expr) if count else column)
    return tuple(unique)


def refuse_shared_names(columns: Schema, query: exp.Expr, script: Script) -> None:
    """Raise if two columns of a query have one name, for output that takes its names from the query.

    SELECT id, k AS id        refused: a sink without declared columns would have `id` and `id:1`
    """
    names = {name.lower() for name in columns.names}
    for name in columns.names:
        shared, _, number = name.rpartition(":")
        if number.isdigit() and shared.lower() in names:
            items = query.selects if isinstance(query, exp.Query) else []
            places = [item for item in items if not item.is_star and name_of_item(item).lower() == shared.lower()]
            if len(places) < 2 or not isinstance(places[-1], exp.Alias):
                continue  # the second name was not written: a star or an expression has brought it
            raise DuplicateNameError(
                f"two columns of the output have the name {shared!r}",
                hint="give one of them another name",
                at=script.position(places[-1]),
            )


def _columns_of_star(item: exp.Expr, scope: Scope) -> list[Visible] | None:
    """Return the columns of a star without those in its EXCEPT or EXCLUDE; None for everything else."""
    if isinstance(item, exp.Star):
        star, columns = item, scope.shown
    elif isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        star, columns = item.this, scope.columns_of(item.table)
    else:
        return None
    excluded = {identifier.name.lower() for identifier in star.args.get("except_") or []}
    unknown = excluded - {visible.name.lower() for visible in columns}
    if unknown:
        raise UnknownColumnError(
            f"there is no column {min(unknown)!r} here", hint="EXCEPT names columns that * stands for"
        )
    return [visible for visible in columns if visible.name.lower() not in excluded]
