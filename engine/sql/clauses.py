"""Clauses that stand for others, replaced before a statement is translated.

GROUP BY ALL                             GROUP BY 1, 3: the items of the list without an aggregate
GROUP BY ROLLUP (a, b)                   UNION ALL of one SELECT for each of (a, b), (a) and ()
SELECT ... QUALIFY row_number() OVER ... = 1       SELECT ... FROM (SELECT ..., row_number() OVER ... AS n) WHERE n = 1
SELECT sum(n) OVER w ... WINDOW w AS (ORDER BY at)         SELECT sum(n) OVER (ORDER BY at) ...
at AT TIME ZONE 'UTC' AT TIME ZONE zone            from_utc_timestamp(to_utc_timestamp(at, 'UTC'), zone)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product

from sqlglot import exp

from engine.errors import TooLargeError, UnsupportedClauseError
from engine.sql.query.aggregate_calls import has_aggregate, is_aggregate_call
from engine.sql.query.select_list import name_of_item
from engine.sql.query.windows import is_window_call
from engine.sql.text.dialect import Arroyo
from engine.sql.window_tables import replace_window_table

MAX_SETS = 64
"""A query of more grouping sets than that is a mistake, or should be several pipelines."""


def rewrite_clauses(statement: exp.Expr) -> exp.Expr:
    """Replace such clauses in all queries of a statement; inner queries first."""
    for node in reversed(list(statement.walk())):
        rewritten = node
        match node:
            case exp.Select():
                rewritten = _rewritten_select(node)
            case exp.AtTimeZone():
                rewritten = _zoned_twice(node) or node
        if rewritten is not node:
            _move_start(node, rewritten)
            if node is statement:
                statement = rewritten
            else:
                node.replace(rewritten)
    return statement


def _move_start(node: exp.Expr, rewritten: exp.Expr) -> None:
    if "start" in node.meta:
        rewritten.meta["start"] = node.meta["start"]


def _zoned_twice(node: exp.AtTimeZone) -> exp.Expr | None:
    """Return the clock of the second zone when the clock of the first shows the value; None for a single zone."""
    inner = node.this.unnest()
    if not isinstance(inner, exp.AtTimeZone):
        return None
    instant = exp.Anonymous(this="to_utc_timestamp", expressions=[inner.this.copy(), inner.args["zone"].copy()])
    return exp.Anonymous(this="from_utc_timestamp", expressions=[instant, node.args["zone"].copy()])


def _rewritten_select(select: exp.Select) -> exp.Expr:
    _use_named_windows(select)
    replace_window_table(select)
    group = select.args.get("group")
    if group is not None and group.args.get("all") is True:
        group.set("all", None)
        group.set("expressions", list(_ungrouped(select)))
    if select.args.get("qualify") is not None:
        return _qualified(select)
    if group is not None and any(isinstance(item, exp.GroupingSets | exp.Rollup | exp.Cube) for item in _items(group)):
        return _union_of_sets(select, group)
    return select


# -- WINDOW


def _use_named_windows(select: exp.Select) -> None:
    """Put the words of WINDOW name AS (...) in the place of the name, in place."""
    defined: dict[str, exp.Window] = {}
    for window in select.args.pop("windows", None) or []:
        _take_words(window, defined)
        defined[window.this.name.lower()] = window
    for window in list(select.find_all(exp.Window)):
        _take_words(window, defined)


def _take_words(window: exp.Window, defined: Mapping[str, exp.Window]) -> None:
    name = window.args.get("alias")
    if name is None or name.name.lower() not in defined:
        return
    words = defined[name.name.lower()]
    window.set("alias", None)
    for part in ("partition_by", "order", "spec"):
        written = words.args.get(part)
        if written and not window.args.get(part):
            copied = [item.copy() for item in written] if isinstance(written, list) else written.copy()
            window.set(part, copied)


def _items(group: exp.Group) -> list[exp.Expr]:
    return list(group.expressions)


def _ungrouped(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the number of each item of the SELECT list that has no aggregate."""
    for number, item in enumerate(select.expressions, 1):
        value = item.unalias()
        if is_window_call(value) or not (has_aggregate([value]) or list(value.find_all(exp.Window))):
            yield exp.Literal.number(number)


# -- QUALIFY


def _qualified(select: exp.Select) -> exp.Expr:
    """Return the rows for which QUALIFY is true, from a sub-query that computes the functions with OVER."""
    inner = select.copy()
    condition = inner.args.pop("qualify").this
    outer = exp.Select()
    for clause in ("order", "limit", "offset", "distinct"):
        value = inner.args.pop(clause, None)
        if value is not None:
            outer.set(clause, value)
    has_star = any(_is_star(item) for item in inner.expressions)
    names = {name_of_item(item).lower() for item in inner.expressions if not _is_star(item)}
    windows = {_text(item.unalias()): name_of_item(item) for item in inner.expressions if item.find(exp.Window)}
    hidden: list[str] = []

    def column_of(value: exp.Expr) -> exp.Expr:
        name = windows.get(_text(value))
        if name is None:
            name = windows[_text(value)] = f"qualified_{len(hidden)}"
            hidden.append(name)
            inner.append("expressions", exp.alias_(value.copy(), name))
        return exp.column(exp.to_identifier(name, quoted=True))

    condition = exp.Paren(this=condition)
    for window in list(condition.find_all(exp.Window)):
        if not isinstance(window.parent, exp.Window):
            window.replace(column_of(window))
    for column in list(condition.find_all(exp.Column)):
        if column.name.startswith("qualified_") or column.name in windows.values():
            continue
        if has_star or column.name.lower() in names:
            column.set("table", None)
        else:
            column.replace(column_of(column))
    star = exp.Star(except_=[exp.to_identifier(name) for name in hidden]) if hidden else exp.Star()
    outer.set("expressions", [star])
    subquery = exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("qualified")))
    outer.set("from_", exp.From(this=subquery))
    outer.set("where", exp.Where(this=condition.this))
    return outer


def _is_star(item: exp.Expr) -> bool:
    return isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star))


def _text(node: exp.Expr) -> str:
    return str(node.sql(dialect=Arroyo)).lower()


# -- GROUPING SETS, ROLLUP and CUBE


def _union_of_sets(select: exp.Select, group: exp.Group) -> exp.Expr:
    """Return one SELECT for each set of keys. A key that is not in the set is NULL outside of aggregates."""
    for clause in ("order", "limit", "offset", "distinct"):
        if select.args.get(clause) is not None:
            hint = "put the query into a sub-query, and write the clause around it"
            raise UnsupportedClauseError(f"{clause.upper()} beside grouping sets is not supported", hint=hint)
    sets = [_distinct([key for part in parts for key in part]) for parts in product(*map(_sets_of, _items(group)))]
    if len(sets) > MAX_SETS:
        raise TooLargeError(f"GROUP BY has {len(sets)} grouping sets", hint=f"at most {MAX_SETS} are planned")
    resolved = [[_resolved(key, select) for key in keys] for keys in sets]
    keys = _distinct([key for keys in resolved for key in keys])
    queries = [_with_keys(select, set_keys, keys) for set_keys in resolved]
    union: exp.Expr = queries[0]
    for query in queries[1:]:
        union = exp.Union(this=union, expression=query, distinct=False)
    return union


def _sets_of(item: exp.Expr) -> list[list[exp.Expr]]:
    """Return the sets of keys that an item of GROUP BY stands for."""
    match item:
        case exp.Rollup():
            parts = [_keys_of(part) for part in item.expressions]
            return [[key for part in parts[:count] for key in part] for count in range(len(parts), -1, -1)]
        case exp.Cube():
            parts = [_keys_of(part) for part in item.expressions]
            chosen = (subset for count in range(len(parts), -1, -1) for subset in combinations(parts, count))
            return [[key for part in subset for key in part] for subset in chosen]
        case exp.GroupingSets():
            return [keys for part in item.expressions for keys in _sets_of_part(part)]
    return [[item]]


def _sets_of_part(part: exp.Expr) -> list[list[exp.Expr]]:
    return _sets_of(part) if isinstance(part, exp.Rollup | exp.Cube | exp.GroupingSets) else [_keys_of(part)]


def _keys_of(part: exp.Expr) -> list[exp.Expr]:
    return list(part.expressions) if isinstance(part, exp.Tuple) else [part.unnest()]


def _distinct(keys: Sequence[exp.Expr]) -> list[exp.Expr]:
    return list({_text(key): key for key in keys}.values())


def _resolved(key: exp.Expr, select: exp.Select) -> exp.Expr:
    """Return the key, if it is given as the number or the alias of an item."""
    items = list(select.expressions)
    if isinstance(key, exp.Literal) and not key.is_string and key.name.isdigit() and 1 <= int(key.name) <= len(items):
        value: exp.Expr = items[int(key.name) - 1].unalias()
        return value
    if isinstance(key, exp.Column) and not key.table:
        for item in items:
            if isinstance(item, exp.Alias) and item.alias.lower() == key.name.lower():
                aliased: exp.Expr = item.this
                return aliased
    return key


def _with_keys(select: exp.Select, keys: list[exp.Expr], all_keys: list[exp.Expr]) -> exp.Select:
    query = select.copy()
    present = {_text(key) for key in keys}
    absent = {_text(key) for key in all_keys} - present
    query.set("group", exp.Group(expressions=[key.copy() for key in keys]) if keys else None)
    items = []
    for item in query.expressions:
        name = name_of_item(item)
        value = _without(item.unalias(), absent, present)
        items.append(exp.alias_(value, name, quoted=True) if _text(item.unalias()) in absent else item)
        if items[-1] is item and value is not item:
            target = item if not isinstance(item, exp.Alias) else item.this
            items[-1] = value if target is item else exp.alias_(value, name, quoted=True)
    query.set("expressions", items)
    having = query.args.get("having")
    if having is not None:
        having.set("this", _without(having.this, absent, present))
    return query


def _without(node: exp.Expr, absent: set[str], present: set[str]) -> exp.Expr:
    """Return the expression with NULL for absent keys, and the number of GROUPING, outside of aggregates."""
    if _text(node) in absent:
        return exp.Null()
    if isinstance(node, exp.Anonymous) and node.name.lower() in ("grouping", "grouping_id"):
        bits = "".join("1" if _text(part) in absent else "0" for part in node.expressions)
        return exp.Literal.number(int(bits or "0", 2))
    if is_aggregate_call(node) or isinstance(node, exp.Filter | exp.WithinGroup) or _text(node) in present:
        return node
    for name, value in list(node.args.items()):
        if isinstance(value, exp.Expr):
            node.set(name, _without(value, absent, present))
        elif isinstance(value, list):
            node.set(name, [_without(part, absent, present) if isinstance(part, exp.Expr) else part for part in value])
    return node
