"""Lowering of relations that emit changelog rows."""

from __future__ import annotations

from collections.abc import Sequence, Set
from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from engine import types
from engine.functions import AGGREGATES
from engine.plan.expressions.conditions import split_condition
from engine.plan.expressions.expr import Column, Expr, Literal, Named
from engine.plan.nodes import (
    MERGED_ROWS,
    Aggregate,
    NamedAggregate,
    Partials,
    UpdatingAggregate,
    UpdatingJoin,
    is_updating,
)
from engine.plan.state.retained_state import needs_values
from engine.plan.state.width_marks import group
from engine.plan.state.withheld import mark_of
from engine.plan.tree import EVENT_TIME, RETRACT, ROW_ID, WATERMARK, hidden_in
from engine.schema import Field, Schema
from engine.spark.lower.rows import EVENT_TIME_MARK, quoted
from engine.spark.printers.expressions import hash_to_sql, to_sql
from engine.spark.printers.literals import quote_name
from engine.spark.printers.udfs import udf_to_sql
from engine.spark.spark_types import spark_schema
from engine.spark.state.buckets import run_in_buckets
from engine.udf.declared import Udf, Udfs
from engine.updating.accumulators.counts import Measure, Sorting
from engine.updating.accumulators.moments import GATHERED
from engine.updating.aggregate import AggregateOperator
from engine.updating.aggregate_spec import AggregateSpec
from engine.updating.join import JoinSide, JoinSpec
from engine.updating.state_columns import BEFORE, MATCH, ROW

CHANGE = (
    Field(EVENT_TIME, types.TIMESTAMP),
    Field(RETRACT, types.BOOLEAN, nullable=False),
    Field(ROW_ID, types.BIGINT, nullable=False),
)
"""Hidden columns of changelog rows."""


def lower_updating_aggregate(node: UpdatingAggregate, rows: DataFrame, udfs: Udfs) -> DataFrame:
    """Return the changelog of the aggregation, with its hidden columns."""
    one_by_one = _taken_one_by_one(node)
    spec = aggregate_spec(node, udfs)
    columns = [F.expr(to_sql(expr)).alias(name) for name, expr in columns_read(node).items()]
    hidden = [EVENT_TIME, RETRACT] if is_updating(node.input) else [EVENT_TIME]
    keys = [Column(f"k{index}", key.expr.type) for index, key in enumerate(node.keys)]
    hashes = {ROW_ID: F.expr(hash_to_sql(keys, formers=group(node.formers, 0, len(keys))))}
    hashes |= {f"v{index}": F.expr(_hash_of_values(node, index, spec.measures[index])) for index in spec.kept_values}
    prepared = rows.select(*columns, *hidden).withColumns(hashes)
    operator = AggregateOperator(spec)
    if (retelling := node.retelling) is not None:
        told = spark_schema(Schema((*spec.schema, *CHANGE, Field(BEFORE, types.BOOLEAN, nullable=False))))
        stepped = run_in_buckets([(prepared, operator)], operator, told, asked_in=retelling.epoch)
        rest = stepped.filter(F.expr(f"NOT {BEFORE} OR coalesce({retelling.passed}, false)"))
        return rest.toDF(*node.schema.names, *(field.name for field in CHANGE), mark_of(node))
    stepped = run_in_buckets([(prepared, operator)], operator, spark_schema(Schema((*spec.schema, *CHANGE))))
    return _called(node, one_by_one, stepped.toDF(*node.schema.names, *(field.name for field in CHANGE)))


def aggregate_spec(node: UpdatingAggregate, udfs: Udfs) -> AggregateSpec:
    """Return the computation of the operator."""
    calls = [column.aggregate for column in node.aggregates]
    one_by_one = _taken_one_by_one(node)
    measures = tuple(_measure(call, udfs.by_name[call.function] if call in one_by_one else None) for call in calls)
    results = (Field("", measure.result) for measure in measures)
    return AggregateSpec(
        schema=numbered(Schema((*node.schema.fields[: len(node.keys)], *results))),
        key_count=len(node.keys),
        measures=measures,
        only_appends=not is_updating(node.input),
        ttl=node.ttl // timedelta(microseconds=1),
        is_merged=isinstance(node.input, Partials),
        form=node.form,
        began_as=node.began_as,
        formerly=node.formerly,
        retelling=None if node.retelling is None else node.retelling.id,
    )


def _taken_one_by_one(node: UpdatingAggregate) -> Set[Aggregate]:
    """Return the user's aggregates that take one row at a time."""
    calls = (column.aggregate for column in node.aggregates)
    only_appends = not is_updating(node.input)
    return {call for call in calls if call.takes != "all" and not needs_values(call, only_appends=only_appends)}


def columns_read(node: UpdatingAggregate) -> dict[str, Expr]:
    """Return the columns that the operator reads: keys, and the arguments, order and condition of each aggregate."""
    columns = {f"k{index}": key.expr for index, key in enumerate(node.keys)}
    if isinstance(node.input, Partials):
        return columns | _merged_columns(node.input, node.aggregates)
    for index, column in enumerate(node.aggregates):
        call = column.aggregate
        columns |= {f"a{index}_{place}": argument for place, argument in enumerate(call.arguments)}
        columns |= {f"o{index}_{place}": order.expr for place, order in enumerate(call.order)}
        if call.condition is not None:
            columns[f"c{index}"] = call.condition
    return columns


def _merged_columns(partials: Partials, aggregates: Sequence[NamedAggregate]) -> dict[str, Expr]:
    """Return the columns that the operator reads of partial rows: the row count, and the partial values of each
    aggregate."""
    columns: dict[str, Expr] = {field.name: Column(field.name, field.type, field.nullable) for field in partials.schema}
    names = {
        f"a{index}_{place}": name
        for index, named in enumerate(aggregates)
        for place, name in enumerate(partials.columns_of(named.aggregate))
    }
    return {"n": columns[MERGED_ROWS.name]} | {short: columns[name] for short, name in names.items()}


def _hash_of_values(node: UpdatingAggregate, index: int, measure: Measure) -> str:
    """Return the hash that identifies a stored value."""
    values = [Column(f"a{index}_{place}", kind) for place, kind in enumerate(measure.arguments)]
    values += [Column(f"o{index}_{place}", sorting.type) for place, sorting in enumerate(measure.order)]
    if not values:
        return hash_to_sql([Literal(0, types.BIGINT)])
    return hash_to_sql(values, formers=group(node.formers, index + 1, len(values)))


def _measure(call: Aggregate, udf: Udf | None) -> Measure:
    """Return the state of an aggregate: for a user's aggregate all rows of the group, unless it takes one row at a
    time."""
    kinds = tuple(argument.type for argument in call.arguments)
    result: types.Type = call.type
    function = call.function
    if function not in AGGREGATES and udf is None:
        members = tuple(types.Member(f"c{place}", kind) for place, kind in enumerate(kinds))
        function, result = GATHERED, types.Array(types.Struct(members))
    order = tuple(Sorting(by.expr.type, by.descending, by.nulls_first) for by in call.order)
    has_condition = call.condition is not None
    return Measure(function, kinds, result, distinct=call.distinct, has_condition=has_condition, order=order, udf=udf)


def _called(node: UpdatingAggregate, one_by_one: Set[Aggregate], rows: DataFrame) -> DataFrame:
    """Return the rows with the user's aggregates called over their gathered values."""
    calls = {column.name: column.aggregate for column in node.aggregates if column.aggregate not in one_by_one}
    columns = {
        name: F.expr(udf_to_sql(call.function, [quote_name(name)]))
        for name, call in calls.items()
        if call.function not in AGGREGATES
    }
    return rows.withColumns(columns) if columns else rows


def lower_updating_join(node: UpdatingJoin, left: DataFrame, right: DataFrame) -> DataFrame:
    """Return the rows of the join, with the hidden columns of changelog rows if any row can be retracted."""
    apart = None if node.condition is None else split_condition(node.condition, node.left.schema, node.right.schema)
    extras = (apart.left, apart.right) if apart else ((), ())
    has_watermark = WATERMARK in left.columns and WATERMARK in right.columns and not is_updating(node)
    spec = JoinSpec(
        left=numbered(node.left.schema, "l"),
        right=numbered(node.right.schema, "r"),
        kind=node.kind,
        condition=apart.condition if apart else None,
        extra=(_schema_of(extras[0]), _schema_of(extras[1])),
        changes=is_updating(node),
        has_watermark=has_watermark,
        ttl=node.ttl // timedelta(microseconds=1),
        is_widened=bool(node.formers),
    )
    parts = [
        (_side(node, spec, number, rows, extras[number]), JoinSide(spec, number))
        for number, rows in enumerate((left, right))
    ]
    hidden = _hidden_of(spec)
    stepped = run_in_buckets(parts, parts[0][1], spark_schema(Schema((*spec.out, *hidden))))
    joined = stepped.toDF(*node.schema.names, *(field.name for field in hidden))
    if has_watermark:
        time = quoted(EVENT_TIME).alias(EVENT_TIME, metadata=EVENT_TIME_MARK)
        joined = joined.select(*map(quoted, node.schema.names), time, WATERMARK)
    if node.condition is not None and apart is None:
        assert node.kind == "inner", "another join whose condition only Spark can compute is refused before"
        joined = joined.filter(F.expr(to_sql(node.condition)))
    return joined


def _hidden_of(spec: JoinSpec) -> tuple[Field, ...]:
    """Return the hidden columns of the joined rows."""
    ends = CHANGE if spec.changes else CHANGE[:1]
    return (*ends, Field(WATERMARK, types.TIMESTAMP)) if spec.has_watermark else ends


def _side(node: UpdatingJoin, spec: JoinSpec, number: int, rows: DataFrame, extras: tuple[Named, ...]) -> DataFrame:
    """Return the columns that the operator reads of one side."""
    relation, schema = (node.left, spec.left) if number == 0 else (node.right, spec.right)
    keys = [pair[number] for pair in node.equal]
    renamed = [Named(new, Column(old.name, old.type)) for new, old in zip(schema.names, relation.schema, strict=True)]
    own_hidden = hidden_in(rows.columns, relation.schema.names)
    prepared = _with_hashes(node, rows, keys, [*renamed, *extras], schema, number, own_hidden)
    hidden = [EVENT_TIME, *([RETRACT] if is_updating(relation) else []), *([WATERMARK] if spec.has_watermark else [])]
    return prepared.select(MATCH, ROW, ROW_ID, *schema.names, *(extra.name for extra in extras), *hidden)


def _with_hashes(
    node: UpdatingJoin,
    rows: DataFrame,
    keys: list[Expr],
    columns: list[Named],
    schema: Schema,
    number: int,
    hidden: list[str],
) -> DataFrame:
    """Return one side with its own columns under other names, and the hashes that identify its rows. A row without a
    match, since a key is NULL, is alone in its group."""
    values = [Column(field.name, field.type) for field in schema]
    changes = RETRACT in hidden
    row_id = Column(ROW_ID, types.BIGINT)
    row = [row_id, *values] if changes else [*values, Column(EVENT_TIME, types.TIMESTAMP)]
    in_types = group(node.formers, number, len(values))
    row_in_types = [(), *in_types] if changes else [*in_types, ()]
    hashed = hash_to_sql(keys, formers=group(node.formers, 2 + number, len(keys)))
    match = f"CASE WHEN {' OR '.join(f'({to_sql(key)}) IS NULL' for key in keys)} THEN NULL ELSE {hashed} END"
    prepared = rows.withColumn(MATCH, F.expr(match))
    prepared = prepared.select(
        *(F.expr(to_sql(column.expr)).alias(column.name) for column in columns),
        MATCH,
        *hidden,
    )
    if not changes:
        prepared = prepared.withColumn(ROW_ID, F.expr(hash_to_sql(values, formers=in_types)))
    by_itself = hash_to_sql(row, seed=number + 1, formers=row_in_types)
    prepared = prepared.withColumn(ROW, F.expr(hash_to_sql(row, formers=row_in_types)))
    return prepared.withColumn(MATCH, F.expr(f"coalesce({MATCH}, {by_itself})"))


def _schema_of(columns: tuple[Named, ...]) -> Schema:
    return Schema(tuple(Field(column.name, column.expr.type) for column in columns))


def numbered(schema: Schema, prefix: str = "c") -> Schema:
    """Rename the columns to safe, numbered names."""
    return Schema(tuple(Field(f"{prefix}{index}", field.type, field.nullable) for index, field in enumerate(schema)))
