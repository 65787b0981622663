"""What stands in a SELECT list, by name and by number."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sqlglot import exp

from engine.errors import ColumnCountError, UnknownColumnError
from engine.plan.expr import Expr, Named
from engine.sql.column_names import count_columns, usable, usable_list
from engine.sql.complaints import errors_located
from engine.sql.query.group_by import WINDOW_NAME
from engine.sql.query.windows import is_window_call
from engine.sql.scope import Scope, Visible
from engine.sql.text.dialect import Arroyo
from engine.sql.text.parse import Script


def aliases(node: exp.Select, scope: Scope) -> dict[str, exp.Expr]:
    """What the names of the SELECT list stand for, where no column of the input has the same name."""
    known = {one.name.lower() for one in scope.shown}
    named = {one.alias.lower(): one.this for one in node.expressions if isinstance(one, exp.Alias)}
    return {name: value for name, value in named.items() if name not in known}


def group_item(item: exp.Expr, select: Sequence[exp.Expr], scope: Scope) -> exp.Expr:
    """What an item of GROUP BY stands for, which may be the number or the name of something selected."""
    if isinstance(item, exp.Literal) and not item.args.get("is_string"):
        index = int(item.name) if re.fullmatch("[0-9]{1,9}", item.name) else 0
        if not 1 <= index <= len(select):
            raise ColumnCountError(
                f"GROUP BY {item.name} is not the number of a column", hint=f"there are {len(select)}"
            )
        return select[index - 1].unalias()
    if isinstance(item, exp.Column) and not item.table:
        known = any(one.name.lower() == item.name.lower() for one in scope.shown)
        named = next((one for one in select if one.alias.lower() == item.name.lower()), None)
        if named is not None and (not known or is_window_call(named.unalias())):
            return named.unalias()
    return item


def alias_names(alias: exp.Expr | None, count: int, script: Script) -> list[str]:
    """The names that an alias gives to all columns of a relation; none when it names the relation alone."""
    names = [part.name for part in alias.args.get("columns") or []] if isinstance(alias, exp.TableAlias) else []
    if not names:
        return []
    with errors_located(script.position(alias)):
        usable_list(names)
    if len(names) != count:
        raise ColumnCountError(
            f"{len(names)} names for {count_columns(count)}", hint="name every column", at=script.position(alias)
        )
    return names


def name_of(item: exp.Expr) -> str:
    """What the column of a selected expression is called."""
    if isinstance(item, exp.Alias):
        return usable(str(item.alias))
    if is_window_call(item):
        return WINDOW_NAME
    if isinstance(item, exp.Column | exp.Dot):
        return str(item.expression.name if isinstance(item, exp.Dot) and not item.name else item.name)
    return " ".join(item.sql(dialect=Arroyo).lower().split()).replace("${", "$ {")


def items_of(item: exp.Expr, scope: Scope, translate: Callable[[exp.Expr], Expr]) -> list[Named]:
    """The columns that an item of a SELECT list stands for: one, or those of a star."""
    columns = _columns_behind(item, scope)
    if columns is None:
        return [Named(name_of(item), translate(item.unalias()))]
    return [Named(column.name, column.column) for column in columns]


def unnamed_columns(select: exp.Select, scope: Scope) -> frozenset[str]:
    """The columns that a SELECT gives and nobody named: what is computed without an alias, and those of its input that
    a star passes on. A column brings its name along, and a member of a struct its own."""
    names: dict[str, bool] = {}
    for item in select.expressions:
        columns = _columns_behind(item, scope)
        if columns is None:
            names.setdefault(name_of(item), not isinstance(item, exp.Alias | exp.Column | exp.Dot))
        for column in columns or ():
            names.setdefault(column.name, column.unnamed)
    return frozenset(name for name, unnamed in names.items() if unnamed)


def unique(columns: Sequence[Named]) -> tuple[Named, ...]:
    """The columns with a number behind names that others have already."""
    seen: dict[str, int] = {}
    found: list[Named] = []
    for item in columns:
        count = seen.get(item.name.lower(), 0)
        seen[item.name.lower()] = count + 1
        found.append(Named(f"{item.name}:{count}", item.expr) if count else item)
    return tuple(found)


def _columns_behind(item: exp.Expr, scope: Scope) -> list[Visible] | None:
    """The columns that a star stands for, but those that its EXCEPT or EXCLUDE names; None for everything else."""
    if isinstance(item, exp.Star):
        star, columns = item, scope.shown
    elif isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        star, columns = item.this, scope.of_table(item.table)
    else:
        return None
    excluded = {name.name.lower() for name in star.args.get("except_") or []}
    unknown = excluded - {column.name.lower() for column in columns}
    if unknown:
        raise UnknownColumnError(f"no column {min(unknown)!r} here", hint="EXCEPT names columns that * stands for")
    return [column for column in columns if column.name.lower() not in excluded]
