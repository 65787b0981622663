"""FROM: tables, views, CTEs and subqueries, joined from left to right.

Arrays in FROM: `FROM rows, unnest(rows.tags) AS tag` has a row per element.

FROM rows LEFT JOIN unnest(rows.tags) AS tag ON true      a row without elements stays, with NULL: it is unnested
                                                          as if it had the array [NULL]

JOIN with a lookup table: each row with the table's row for its key at that time.

FROM orders o LEFT JOIN users u ON o.user_id = u.id          users has PRIMARY KEY (id)

LookupJoin left of orders, key user_id: an order without a user has NULL in the columns of users

UNNEST in a SELECT list: a single one, anywhere in an expression.

SELECT id, upper(unnest(tags)) FROM events

Unnest      a row per element of `tags`, in a column `__unnest`
Project     id, "upper(unnest(tags))" = upper(__unnest)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal as Literal_typing
from typing import TypeAlias, assert_never

from sqlglot import exp

from engine import types
from engine.errors import FunctionArgumentsError, JoinError, TooLargeError, UnsupportedClauseError
from engine.functions import find_function
from engine.plan.expressions.expr import Case, Cast, Column, Expr, Literal
from engine.plan.nodes import Filter, LookupJoin, Unnest
from engine.plan.nodes.updating import is_updating
from engine.plan.tree import Node
from engine.sql.catalog import MAX_LEVELS, BrokenTableError, Complaints, LookupTable, errors_located
from engine.sql.data_types import numbered, usable
from engine.sql.query.constant_rows import join_values
from engine.sql.query.join_choice import JoinClause, JoinCondition, where_conditions, with_nullability
from engine.sql.query.lateral import join_lateral
from engine.sql.query.query_reader import QueryReader
from engine.sql.query.relation_columns import NoRows, cast_columns, rename_apart
from engine.sql.query.select_list import names_of_alias
from engine.sql.query.versions import join_versions, scan_of, version_of
from engine.sql.scalar.comparisons import make_call
from engine.sql.scalar.expressions import Expressions
from engine.sql.scope import Relation, Scope, ScopedRows, Visible, scope_of
from engine.sql.text.dialect import Arroyo
from engine.sql.text.parse import Script

_JOINS = "the elements of an array are joined with CROSS JOIN, or LEFT JOIN ... ON true"


@dataclass(frozen=True, slots=True)
class ArrayElements:
    """Elements of an array of preceding rows in FROM: the call that returns it, and their name."""

    call: exp.Anonymous
    table: str | None
    column: str


def read_elements(node: exp.Expr) -> ArrayElements | None:
    """Return the elements that an item of FROM stands for; None when it is a relation of its own."""
    inner = node.this if isinstance(node, exp.Lateral | exp.Table) else node
    match inner:
        case exp.Unnest():
            call = exp.Anonymous(this="unnest", expressions=inner.expressions)
            ordinality = inner.args.get("offset") or node.args.get("ordinality")
        case exp.Anonymous() if _gives_rows(inner.name):
            call, ordinality = inner, node.args.get("ordinality")
        case _:
            return None
    if ordinality:
        raise UnsupportedClauseError("WITH ORDINALITY is not supported", hint="leave it out")
    table = node.alias or None
    return ArrayElements(call, table, usable(_column_alias(node) or table or str(call.this)))


def _column_alias(node: exp.Expr) -> str | None:
    """Return the name that `AS tags(tag)` gives to the column."""
    alias = node.args.get("alias")
    columns = [column.name for column in alias.args.get("columns") or []] if alias is not None else []
    if len(columns) > 1:
        raise UnsupportedClauseError("an element is one column", hint="name one; the members of a struct have a dot")
    return columns[0] if columns else None


def join_elements(script: Script, join: exp.Join, left: ScopedRows, elements: ArrayElements) -> ScopedRows:
    """Return the rows once for every element of their array; with a left join, once with NULL if it has none."""
    _check_kind(join)
    if elements.table and elements.table.lower() in left.scope.tables:
        raise JoinError(f"{elements.table!r} appears twice in FROM", hint="give one of them an alias")
    unnesting = ArrayUnnesting()
    element = unnesting.element_of(elements.call, Expressions(script, left.scope).translate)
    assert element is not None
    assert unnesting.array is not None
    array, on = unnesting.array, join.args.get("on")
    is_left = _is_left_join(join)
    name = numbered("__element", left.rows.schema.names)
    rows = Unnest(left.rows, name, _or_null(array, element.type) if is_left else array)
    scope = Scope((*left.scope.columns, Visible(elements.table, Column(name, element.type), elements.column)))
    if on is not None and not is_left:
        return ScopedRows(Filter(rows, Expressions(script, scope).condition(on)), scope)
    return ScopedRows(rows, scope)


def _check_kind(join: exp.Join) -> None:
    if str(join.method or "") or join.kind.upper() not in ("", "CROSS", "INNER", "OUTER") or join.args.get("using"):
        raise JoinError(_JOINS)


def _is_left_join(join: exp.Join) -> bool:
    """Whether a row without elements stays. A left join must have ON true: a row whose elements ON rejects would stay,
    too."""
    side, on = join.side.upper(), join.args.get("on")
    is_on_true = isinstance(on, exp.Boolean) and on.this
    if side not in ("", "LEFT") or (side and not is_on_true):
        raise JoinError(_JOINS, hint="ask of them in WHERE")
    return bool(side)


def _gives_rows(name: str) -> bool:
    function = find_function(name)
    return name.lower() == "unnest" or (function is not None and function.gives_rows)


def _or_null(array: Expr, element: types.Type) -> Expr:
    """Return the array, or one with a NULL if it has no elements."""
    has_elements = make_call(">", [make_call("cardinality", [array]), Literal(0, types.BIGINT)])
    only_null = make_call("make_array", [Literal(None, element)])
    return Case(((has_elements, array),), only_null, array.type)


FromItem: TypeAlias = ScopedRows | LookupTable | ArrayElements | exp.Lateral | exp.Values
"""An item of FROM; all but plain rows depend on the preceding items."""


def read_from(queries: QueryReader, select: exp.Select) -> ScopedRows:
    """Return the rows in the FROM of a SELECT, and the names of their columns."""
    clause = select.args.get("from_")
    if clause is None:
        raise UnsupportedClauseError(
            "a query without FROM has no rows to read",
            hint="select from a table",
            at=queries.script.position(select),
        )
    return _read_joined(queries, clause.this, select.args.get("joins") or [], where_conditions(select))


def rename_columns(relation: Relation, alias: exp.Expr | None, script: Script) -> Relation:
    """Return the relation with the column names of an alias, if it has any."""
    schema = relation.rows.schema
    names = names_of_alias(alias, len(schema), script)
    if not names:
        return relation
    columns = [(name, field.type) for name, field in zip(names, schema, strict=True)]
    return Relation(cast_columns(relation.rows, columns))


def _read_joined(
    queries: QueryReader, first: exp.Expr, joins: Sequence[exp.Join], where: Sequence[exp.Expr]
) -> ScopedRows:
    """Return relations joined from left to right. All of them are read, so that every error is collected."""
    if len(joins) > MAX_LEVELS:
        raise TooLargeError(f"a FROM has {len(joins)} joins", hint=f"at most {MAX_LEVELS} are planned")
    complaints = Complaints()
    items: list[FromItem] = []
    for node in (first, *(join.this for join in joins)):
        with complaints.collect(queries.script.position(node)):
            items.append(_read_item(queries, node, is_first=node is first, is_alone=not joins))
    complaints.raise_any()
    if len(items) != 1 + len(joins):
        raise BrokenTableError("a side of the join")
    rows = items[0]
    assert isinstance(rows, ScopedRows), "what needs rows before it is refused in the first place"
    for join, item in zip(joins, items[1:], strict=True):
        clause = JoinClause(queries.script, join, where, queries.updating_ttl)
        with errors_located(queries.script.position(join.this)):
            rows = _join_item(queries, clause, rows, item)
    return rows


def _join_item(queries: QueryReader, clause: JoinClause, left: ScopedRows, item: FromItem) -> ScopedRows:
    match item:
        case ScopedRows():
            instant = version_of(clause.node.this)
            if instant is not None:
                return join_versions(clause, left, item, instant, queries.primary_key(scan_of(item.rows)))
            return clause.join(left, item)
        case exp.Lateral():
            joined = join_lateral(queries, clause.node, left, item)
            return joined or clause.join(left, _read_subquery(queries, item.this, item.args.get("alias")))
        case exp.Values():
            return join_values(queries.script, clause.node, left, item)
        case ArrayElements():
            return join_elements(queries.script, clause.node, left, item)
        case LookupTable():
            return join_lookup(clause, left, item, clause.node.this.alias_or_name)
    assert_never(item)


def _read_item(queries: QueryReader, node: exp.Expr, *, is_first: bool, is_alone: bool) -> FromItem:
    behind_others = None if is_first else _read_behind_others(node)
    if behind_others is not None:
        return behind_others
    name = node.name if isinstance(node, exp.Table) and not node.args.get("joins") else ""
    lookup = queries.find_lookup(name) if name else None
    if lookup is not None and is_first:
        raise refuse_lookup(name, is_joined=not is_alone)
    return _read_rows(queries, node) if lookup is None else lookup


def _read_behind_others(node: exp.Expr) -> ArrayElements | exp.Lateral | exp.Values | None:
    """Return an item that may read the rows before it; None for every other."""
    if isinstance(node, exp.Values) and node.args.get("alias") is not None:
        return node
    elements = read_elements(node)
    if elements is None and isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery):
        return node
    return elements


def _read_rows(queries: QueryReader, node: exp.Expr) -> ScopedRows:
    """Return the rows of a table or a sub-query that does not depend on others."""
    alias = node.args.get("alias")
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table) and alias is None:
        return _read_joined(queries, node.this, node.this.args.get("joins") or [], [])
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
        return _read_subquery(queries, node, alias)
    at = queries.script.position(node)
    if isinstance(node, exp.Unnest):
        raise UnsupportedClauseError(
            "unnest needs rows whose arrays it takes apart",
            hint="name them before it: FROM events, unnest(events.tags) AS tag",
            at=at,
        )
    if not _is_table_name(node):
        raise UnsupportedClauseError(
            f"cannot read from {node.sql(dialect='postgres', normalize_functions=False)}",
            hint="join them to a table: FROM events JOIN (VALUES (1, 'a')) AS t(n, name) ON ..."
            if isinstance(node, exp.Values)
            else "name a table, a view, a CTE or a sub-query",
            at=at,
        )
    with errors_located(at):
        table = queries.read_table(node.name)
    relation = rename_columns(table, alias, queries.script)
    return ScopedRows(relation.rows, scope_of(relation, node.alias or node.name))


def _is_table_name(node: exp.Expr) -> bool:
    """Whether the item is a table name with a single part."""
    return isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier) and not node.args.get("db")


def _read_subquery(queries: QueryReader, node: exp.Subquery, alias: exp.Expr | None) -> ScopedRows:
    relation = rename_columns(queries.translate(node), alias, queries.script)
    name = alias.name if isinstance(alias, exp.TableAlias) and alias.name else None
    return ScopedRows(relation.rows, scope_of(relation, name))


def join_lookup(clause: JoinClause, left: ScopedRows, table: LookupTable, alias: str) -> ScopedRows:
    """Return the rows of the left, each with the table's values for its key."""
    word = clause.node.side.upper() or clause.kind_word or "INNER"
    if word not in ("LEFT", "INNER", "CROSS"):
        raise JoinError(
            f"{word} JOIN of a lookup table is not supported", hint="use an inner or a left join", at=clause.at
        )
    if is_updating(left.rows):
        raise JoinError(
            "a lookup join cannot follow rows that are taken back, which might find another row then",
            hint="look up first, and aggregate the result",
            at=clause.at,
        )
    columns = NoRows(table.columns)
    right = ScopedRows(columns, scope_of(Relation(columns), alias))
    clause.refuse_repeated_table(left, right)
    left = rename_apart(left, right)
    key = _lookup_key(clause, clause.condition(left, right), table)
    kind: Literal_typing["inner", "left"] = "left" if word == "LEFT" else "inner"
    rows = LookupJoin(left.rows, table.table.name, table.columns, kind, key)
    joined = ScopedRows(rows, Scope((*left.scope.columns, *right.scope.columns)))
    return clause.merge_shared_columns(with_nullability(joined), left, right, kind)


def refuse_lookup(name: str, *, is_joined: bool) -> JoinError:
    """Return the error for a lookup table that is read like a stream."""
    message = (
        "a lookup table must be on the right side of an inner or left join"
        if is_joined
        else "a lookup table can only be read by a join"
    )
    return JoinError(message, hint=f"write FROM stream JOIN {name} ON stream.column = {name}.key")


def _lookup_key(clause: JoinClause, condition: JoinCondition, table: LookupTable) -> Expr:
    if condition.remainder is not None or not condition.pairs:
        raise JoinError(
            "a lookup join needs an equality with the table's key, and takes no other condition",
            hint="write ON stream.column = table.key, and conditions into WHERE",
            at=clause.at,
        )
    if len(condition.pairs) > 1:
        raise JoinError("a lookup join matches rows by the key alone", hint="leave out the other columns", at=clause.at)
    key, key_column = condition.pairs[0]
    match key_column:
        case Cast(Column(name, types.Integer() as kind), types.Integer()):
            key = Cast(key, kind, lenient=True)  # a number beyond the key's type is no key
        case Column(name):
            pass
        case _:
            raise JoinError(
                "the key of a lookup table must be compared as it is", hint="compute on the left side", at=clause.at
            )
    if table.key is None or name.lower() != table.key.lower():
        raise JoinError(
            f"column {name!r} is not the primary key of the lookup table",
            hint=f"the primary key is {table.key}" if table.key else "declare one of its columns PRIMARY KEY",
            at=clause.at,
        )
    return key


_ELEMENT = "__unnest"


@dataclass(slots=True)
class ArrayUnnesting:
    """The array that a SELECT list unnests, once a call of `unnest` was found."""

    array: Expr | None = None

    def element_of(self, node: exp.Expr, translate: Callable[[exp.Expr], Expr]) -> Expr | None:
        """Return the element for a call of `unnest`; None for everything else."""
        array = None if not isinstance(node, exp.Anonymous) else _array_of(node, translate)
        if array is None:
            return None
        if self.array is not None:
            raise UnsupportedClauseError(
                "a SELECT list can take apart one array only",
                hint="take the second array apart in a query around this one",
            )
        if not isinstance(array.type, types.Array):
            argument = node.expressions[0].sql(dialect=Arroyo, normalize_functions=False)
            raise FunctionArgumentsError(
                f"argument '{argument}' of unnest is not an array", hint=f"it is of type {array.type}"
            )
        self.array = array
        return Column(_ELEMENT, array.type.element)

    def unnest(self, rows: Node) -> Node:
        """Return the rows, each once for every element of the array, if there is one."""
        return rows if self.array is None else Unnest(rows, _ELEMENT, self.array)


def _array_of(call: exp.Anonymous, translate: Callable[[exp.Expr], Expr]) -> Expr | None:
    """Return the array that a call unnests; None for a function that returns one value."""
    function = find_function(call.name)
    if function is not None and function.gives_rows:
        return make_call(function.name, [translate(argument) for argument in call.expressions])
    if call.name.lower() != "unnest":
        return None
    if len(call.expressions) != 1:
        raise FunctionArgumentsError(f"unnest takes one array, not {len(call.expressions)} arguments")
    return translate(call.expressions[0])
