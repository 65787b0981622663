"""UNION, INTERSECT and EXCEPT: relations with the same columns, by position.

    a UNION ALL b    Union
    a UNION b        Union, and DISTINCT
    a INTERSECT b    a semi join of the distinct rows of `a` with `b`, on all columns
    a EXCEPT b       an anti join of them
    a EXCEPT ALL b   an anti join of all rows, each with its number among equal ones: of three copies against two the
                     third is left; INTERSECT ALL is a semi join of the same

Here NULL equals NULL, unlike in comparisons: a nullable column is compared inside a struct.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Literal

from sqlglot import exp

from engine import types
from engine.errors import ColumnCountError, TextPosition, TooLargeError, TypeMismatchError, UnsupportedClauseError
from engine.functions.coercion import common_type
from engine.plan.expressions.calls import make_struct
from engine.plan.expressions.expr import Column, Expr, Named
from engine.plan.nodes import NamedOver, Order, Over, Project, Union, UpdatingTop, pass_through, window_of
from engine.plan.tree import Node
from engine.schema import Field
from engine.sql.catalog import MAX_RELATIONS, BrokenTableError, Complaints, errors_located
from engine.sql.data_types import count_columns
from engine.sql.query.aggregate_calls import distinct_rows
from engine.sql.query.join_choice import JoinCondition, choose_join
from engine.sql.query.query_reader import QueryReader
from engine.sql.query.relation_columns import cast_columns, column_of
from engine.sql.scope import Relation


def translate_set_operation(queries: QueryReader, node: exp.SetOperation) -> Relation:
    """Return the rows of both sides, or those of the first that are or are not in the second; equal ones once, except
    for UNION ALL."""
    word = type(node).__name__.upper()
    at = queries.script.position_of_word(word, node, node.expression)
    is_distinct = node.args.get("distinct", True)
    complaints = Complaints()
    relations: list[Relation] = []
    for side in (node.this, node.expression):
        with complaints.collect(queries.script.position(side)):
            relations.append(queries.translate(side))
    complaints.raise_any()
    if len(relations) != 2:
        raise BrokenTableError("a side of the union")
    sides = [relation.rows for relation in relations]
    if word == "UNION":
        rows = unite(sides, queries.script.position(node.expression))
        if is_distinct:
            with errors_located(at):
                rows = distinct_rows(rows, queries.updating_ttl)
    else:
        with errors_located(at):
            rows = _compare_rows(sides, word, queries.updating_ttl, is_distinct=is_distinct)
    return replace(relations[0], rows=rows)


def unite(relations: Sequence[Node], at: TextPosition | None = None) -> Node:
    """Return one relation with the rows of all inputs; columns by position, cast to their common types."""
    inputs = [rows for relation in relations for rows in _united(relation)]
    if len(inputs) > MAX_RELATIONS:
        raise TooLargeError(f"a union has {len(inputs)} relations", hint=f"at most {MAX_RELATIONS} are planned", at=at)
    return Union(_align(inputs, "UNION ALL", at))


def _united(rows: Node) -> tuple[Node, ...]:
    return rows.inputs if isinstance(rows, Union) else (rows,)


def _align(relations: Sequence[Node], word: str, at: TextPosition | None) -> tuple[Node, ...]:
    """Return the relations with columns of the same names and types, by position."""
    first, *more = relations
    for relation in more:
        if len(relation.schema) != len(first.schema):
            raise ColumnCountError(
                f"the sides of {word} have {len(first.schema)} and {count_columns(len(relation.schema))}",
                hint="both sides need the same columns in the same order",
                at=at,
            )
    columns = list(first.schema.fields)
    for relation in more:
        for index, field in enumerate(relation.schema):
            kind = common_type(columns[index].type, field.type)
            if kind is None:
                name, first_type = columns[index].name, columns[index].type
                raise TypeMismatchError(
                    f"the sides of {word} have {first_type} and {field.type} in column {name!r}",
                    hint="cast one of them",
                    at=at,
                )
            columns[index] = replace(columns[index], type=kind)
    names_and_types = [(column.name, column.type) for column in columns]
    return tuple(cast_columns(relation, names_and_types) for relation in relations)


def _compare_rows(sides: Sequence[Node], word: str, ttl: timedelta, *, is_distinct: bool) -> Node:
    """Return the distinct rows of the first that are, or are not, in the second. Within a window if both relations have
    one, else without a time limit."""
    first, second = _align(sides, word, None)
    left = distinct_rows(first, ttl) if is_distinct else _numbered(first, word, ttl)
    right = second if is_distinct else _numbered(second, word, ttl)
    projections = (Named(f"__other{index}", column_of(field)) for index, field in enumerate(right.schema))
    right = Project(right, tuple(projections))
    pairs = tuple(
        _equal_or_both_null(left_field, right_field)
        for left_field, right_field in zip(left.schema, right.schema, strict=True)
    )
    kind: Literal["semi", "anti"] = "semi" if word == "INTERSECT" else "anti"
    joined = choose_join(left, right, kind, JoinCondition(pairs), ttl, None)
    return joined if is_distinct else Project(joined, pass_through(first.schema))


_COPY = "__copy"


def _numbered(rows: Node, word: str, ttl: timedelta) -> Node:
    """Return the rows with a number among equal ones, within their window if they have one."""
    columns = tuple(column_of(field) for field in rows.schema)
    window = window_of(rows)
    if window is None:
        return UpdatingTop(rows, "row_number", columns, (), _COPY, None, ttl)
    if window[1] is None:
        raise UnsupportedClauseError(
            f"{word} ALL needs the window among its columns", hint=f"select the window on both sides, or write {word}"
        )
    order = (Order(Column(window[1], types.WINDOW, nullable=False), descending=False, nulls_first=False),)
    number = NamedOver(_COPY, "row_number", (), columns, order, None, types.BIGINT, nullable=False)
    return Over(rows, window[1], (number,))


def _equal_or_both_null(left: Field, right: Field) -> tuple[Expr, Expr]:
    """Return the equality of two columns. Those that may be NULL are wrapped, since nothing equals NULL."""
    left_column, right_column = Column(left.name, left.type), Column(right.name, right.type)
    if not left.nullable and not right.nullable:
        return left_column, right_column
    wrapped_left, wrapped_right = (make_struct(["value"], [column]) for column in (left_column, right_column))
    assert wrapped_left is not None
    assert wrapped_right is not None
    return wrapped_left, wrapped_right
