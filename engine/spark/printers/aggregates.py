"""Spark SQL of aggregates that Spark lacks, or computes differently."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeAlias

from engine import types
from engine.functions import AGGREGATES
from engine.plan.nodes import Aggregate, Order
from engine.spark.printers.expressions import to_sql
from engine.spark.printers.literals import type_to_sql
from engine.spark.printers.udfs import rows_to_sql, udf_to_sql


@dataclass(frozen=True, slots=True)
class Spelling:
    """An aggregate whose arguments are already printed."""

    aggregate: Aggregate
    arguments: Sequence[str]
    over: str = ""
    """The OVER clause, for a window function."""

    def of(self, name: str, *arguments: str, behind: str = "") -> str:
        """Return Spark's aggregate of that name over the rows that pass the filter; `behind` follows the filter."""
        distinct = "DISTINCT " if self.aggregate.distinct else ""
        condition = self.aggregate.condition
        where = "" if condition is None else f" FILTER (WHERE {to_sql(condition)})"
        return f"{name}({distinct}{', '.join(arguments)}){where}{behind}{self.over}"


AggregateForm: TypeAlias = Callable[[Spelling], str]


def aggregate_to_sql(aggregate: Aggregate, over: str = "") -> str:
    """Return the aggregate as text; without a form of its own it has the same name, arguments and meaning in Spark."""
    spelling = Spelling(aggregate, [to_sql(argument) for argument in aggregate.arguments], over)
    if aggregate.function not in AGGREGATES:
        rows = replace(spelling, arguments=[rows_to_sql(spelling.arguments)])
        return udf_to_sql(aggregate.function, [_in_order(rows)])
    form = AGGREGATE_FORMS.get(aggregate.function)
    return spelling.of(aggregate.function, *spelling.arguments or ["1"]) if form is None else form(spelling)


def distinct_to_sql(aggregate: Aggregate) -> str:
    """Return an aggregate of distinct values for a stream, which supports sets of values but no DISTINCT."""
    values = Spelling(replace(aggregate, distinct=False), [])
    value_set = values.of("collect_set", to_sql(aggregate.arguments[0]))
    kind = type_to_sql(aggregate.type)
    total = f"aggregate({value_set}, CAST(0 AS {kind}), (s, v) -> CAST(s + v AS {kind}))"
    some = f"size({value_set}) > 0"
    match aggregate.function:
        case "count":
            return f"size({value_set})"
        case "sum":
            return f"CASE WHEN {some} THEN {total} END"
        case "avg":
            return f"CASE WHEN {some} THEN {total} / size({value_set}) END"
    raise KeyError(aggregate.function)


def _array_agg(call: Spelling) -> str:
    return _unless_empty(_in_order(call))


def _string_agg(call: Spelling) -> str:
    texts, delimiter = f"filter({_in_order(call)}, v -> v IS NOT NULL)", call.arguments[1]
    return f"CASE WHEN size({texts}) > 0 THEN array_join({texts}, {delimiter}) END"


def _first_value(call: Spelling) -> str:
    return _edge(call, first=True)


def _last_value(call: Spelling) -> str:
    return _edge(call, first=False)


def _edge(call: Spelling, *, first: bool) -> str:
    """Return the value of the first or last row. If all orders have the same direction it is the least or greatest in
    an order of structs, for which only one row is stored."""
    order = call.aggregate.order
    if not order:
        return call.of("first_value" if first else "last_value", call.arguments[0])
    if len({part.descending for part in order}) > 1:
        return f"element_at({_unless_empty(_in_order(call))}, {1 if first else -1})"
    descending = order[0].descending
    # true is greater than false: it goes to the NULLs where they belong to the end that is looked for last
    keys = []
    for part in order:
        nulls_are_greatest = part.nulls_first == descending
        keys += [f"({to_sql(part.expr)}) IS {'' if nulls_are_greatest else 'NOT '}NULL", to_sql(part.expr)]
    return call.of("max_by" if first == descending else "min_by", call.arguments[0], f"struct({', '.join(keys)})")


def _nth_value(call: Spelling) -> str:
    return f"try_element_at({_unless_empty(_in_order(call))}, CAST({call.arguments[1]} AS INT))"


def _in_order(call: Spelling) -> str:
    """Return all values in an array: in the requested order, or as they arrived."""
    order = call.aggregate.order
    if not order:
        return call.of("collect_list", call.arguments[0], behind=" RESPECT NULLS")
    keys = "".join(f", {to_sql(part.expr)} AS k{index}" for index, part in enumerate(order))
    rows = call.of("collect_list", f"struct({call.arguments[0]} AS v{keys})")
    tests = " ".join(_comparison(index, part) for index, part in enumerate(order))
    return f"transform(array_sort({rows}, (a, b) -> CASE {tests} ELSE 0 END), r -> r.v)"


def _comparison(index: int, order: Order) -> str:
    nulls, values = (-1 if order.nulls_first else 1), (1 if order.descending else -1)
    a, b = f"a.k{index}", f"b.k{index}"
    return (
        f"WHEN {a} IS NULL AND {b} IS NOT NULL THEN {nulls} WHEN {a} IS NOT NULL AND {b} IS NULL THEN {-nulls} "
        f"WHEN {a} < {b} THEN {values} WHEN {a} > {b} THEN {-values}"
    )


def _unless_empty(gathered: str) -> str:
    return f"CASE WHEN size({gathered}) > 0 THEN {gathered} END"


def _median(call: Spelling) -> str:
    """Return the median. Spark's is a DOUBLE, which cannot represent large whole numbers and decimals exactly, and does
    not support frames."""
    kind, value = call.aggregate.type, call.arguments[0]
    if isinstance(kind, types.Float) and not call.over:
        return f"CAST({call.of('median', value)} AS {type_to_sql(kind)})"
    values = f"array_sort({call.of('collect_list', value)})"
    low = f"get({values}, CAST((size({values}) - 1) div 2 AS INT))"
    high = f"get({values}, CAST(size({values}) div 2 AS INT))"
    return _half_way(low, high, kind)


def _half_way(low: str, high: str, kind: types.Type) -> str:
    """Return the mean of two values, truncated to the type, as in Arroyo."""
    match kind:
        case types.Integer():
            both = f"CAST(CAST({low} AS DECIMAL(20, 0)) + CAST({high} AS DECIMAL(20, 0)) AS DECIMAL(21, 0))"
            return f"CAST({both} div 2 AS {type_to_sql(kind)})"
        case types.Decimal(precision, scale):
            wide = f"DECIMAL({min(38, precision + 1)}, {scale})"
            both = f"(CAST({low} AS {wide}) + CAST({high} AS {wide}))"
            return f"CAST(({both} - {both} % {2 * Decimal(10) ** -scale:f}BD) / 2 AS {type_to_sql(kind)})"
    return f"CAST((CAST({low} AS DOUBLE) + CAST({high} AS DOUBLE)) / 2 AS {type_to_sql(kind)})"


def _percentile_cont(call: Spelling) -> str:
    """Return the value that interpolates linearly between the neighbours of the share."""
    value, share = call.arguments
    place = f"({share} * (size(v) - 1))"
    low, high = f"get(v, CAST(floor({place}) AS INT))", f"get(v, CAST(ceil({place}) AS INT))"
    between = f"{low} + ({high} - {low}) * ({place} - floor({place}))"
    return _of_sorted(call, value, f"CASE WHEN {low} = {high} THEN {low} ELSE {between} END")


def _percentile_disc(call: Spelling) -> str:
    """Return the first value whose rank reaches the share. It uses decimals, in which a share of the number of values
    is exact."""
    value, share = call.arguments
    place = f"CAST(ceil(CAST({share} AS DECIMAL(17, 16)) * size(v)) AS INT)"
    return _of_sorted(call, value, f"get(v, greatest({place}, 1) - 1)")


def _of_sorted(call: Spelling, value: str, result: str) -> str:
    """Return an expression over the values, which are sorted once and named v."""
    return f"get(transform(array(array_sort({call.of('collect_list', value)})), v -> {result}), 0)"


def _mode(call: Spelling) -> str:
    """Return the longest run of equal values among the sorted ones. Spark's own does not support frames."""
    run = "struct(p AS v, CASE WHEN s.last.v = p THEN s.last.n + 1 ELSE 1 END AS n)"
    kind = type_to_sql(call.aggregate.type)
    nothing = f"struct(CAST(NULL AS {kind}) AS v, 0 AS n)"
    better = "CASE WHEN r.n > s.best.n THEN r ELSE s.best END"
    step = f"get(transform(array({run}), r -> struct(r AS last, {better} AS best)), 0)"
    runs = f"aggregate(v, struct({nothing} AS last, {nothing} AS best), (s, p) -> {step})"
    return _of_sorted(call, call.arguments[0], f"{runs}.best.v")


def _corr(call: Spelling) -> str:
    """Return the correlation. Spark's own fails if all values of one side are equal."""
    sides = [f"sqrt(nullif({call.of(name, *call.arguments)}, 0))" for name in ("regr_sxx", "regr_syy")]
    return f"{call.of('regr_sxy', *call.arguments)} / ({' * '.join(sides)})"


def _regr_r2(call: Spelling) -> str:
    """Return R squared. Spark's own is 1 if all values of y are equal."""
    return f"CASE WHEN {call.of('regr_syy', *call.arguments)} <> 0 THEN {call.of('regr_r2', *call.arguments)} END"


def _approx_distinct(call: Spelling) -> str:
    """Return the estimated number of distinct values, by hashes, since a sketch takes few types. A sketch of few values
    is a list of them, so it is exact."""
    value = call.arguments[0]
    sketch = call.of("hll_sketch_agg", f"CASE WHEN {value} IS NOT NULL THEN xxhash64({value}) END", "14")
    return f"hll_sketch_estimate({sketch})"


def _approx_median(call: Spelling) -> str:
    return _around(call, "0.5D")


def _approx_percentile(call: Spelling) -> str:
    return _around(call, call.arguments[1])


def _around(call: Spelling, share: str) -> str:
    """Return the mean of the values on both sides of the share, so that the median of few values is exact."""
    shares = f"array({share}, least({share} + 1e-9D, 1D))"
    neighbours = call.of("approx_percentile", call.arguments[0], shares, "10000")
    low, high = f"{neighbours}[0]", f"{neighbours}[1]"
    return f"CASE WHEN {low} = {high} THEN {low} ELSE {_half_way(low, high, call.aggregate.type)} END"


def _weighted_percentile(call: Spelling) -> str:
    """Return the weighted percentile. Arroyo counts the rows and not their weights, see the declaration."""
    value, weight, share = call.arguments
    pair = f"CASE WHEN {value} IS NOT NULL AND {weight} IS NOT NULL THEN struct({value} AS v, {weight} AS w) END"
    pairs = f"array_sort({call.of('collect_list', pair)})"
    start = f"struct(CAST(NULL AS {type_to_sql(call.aggregate.type)}) AS v, 0D AS w)"
    step = f"CASE WHEN s.w < {share} * size({pairs}) OR s.v IS NULL THEN struct(p.v AS v, s.w + p.w AS w) ELSE s END"
    return f"aggregate({pairs}, {start}, (s, p) -> {step}).v"


AGGREGATE_FORMS: Mapping[str, AggregateForm] = {
    "array_agg": _array_agg,
    "string_agg": _string_agg,
    "first_value": _first_value,
    "last_value": _last_value,
    "nth_value": _nth_value,
    "median": _median,
    "percentile_cont": _percentile_cont,
    "percentile_disc": _percentile_disc,
    "mode": _mode,
    "corr": _corr,
    "regr_r2": _regr_r2,
    "approx_distinct": _approx_distinct,
    "approx_median": _approx_median,
    "approx_percentile_cont": _approx_percentile,
    "approx_percentile_cont_with_weight": _weighted_percentile,
}
