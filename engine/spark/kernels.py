"""Making our own kernels callable from Spark SQL, under names that no function of Spark's has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pyspark.sql import SparkSession

from engine import types
from engine.functions import FUNCTIONS
from engine.plan.expr import Call
from engine.plan.tree import Node
from engine.plan.used import calls_of
from engine.spark.literals import text_to_sql
from engine.spark.types import to_spark


def kernel_to_sql(call: Call, arguments: Sequence[str]) -> str:
    """The call of a kernel; a missing answer fails only where the value is asked for."""
    text = f"{_name(call)}({', '.join(arguments)})"
    if FUNCTIONS[call.function].nullable is not any:
        return text
    there = "".join(f" AND {argument} IS NOT NULL" for argument in arguments)
    complaint = text_to_sql(f"{call.function} has no answer for what it is given")
    return f"(CASE WHEN {text} IS NULL{there} THEN raise_error({complaint}) ELSE {text} END)"


def register_kernels(spark: SparkSession, nodes: Iterable[Node]) -> None:
    """Let the session know every kernel that the plans call."""
    register_calls(spark, (call for node in nodes for call in calls_of(node)))


def register_calls(spark: SparkSession, calls: Iterable[Call]) -> None:
    """Let the session know the kernels of these calls."""
    wanted = {_name(call): call for call in calls if _is_computed(call)}
    for name, call in wanted.items():
        _register(spark, name, call.function, call.type)


def _register(spark: SparkSession, name: str, function: str, kind: types.Type) -> None:
    from pyspark.sql.pandas.functions import arrow_udf  # noqa: PLC0415 - it imports pandas, which few runs need

    def compute(*columns):  # type: ignore[no-untyped-def]  # pyspark would take hints for the kind of function
        from engine.functions.arrow import KERNELS  # noqa: PLC0415 - only tasks need Arrow
        from engine.schema import to_arrow  # noqa: PLC0415

        return KERNELS[function](*columns).cast(to_arrow(kind))

    spark.udf.register(name, arrow_udf(compute, to_spark(kind)))  # type: ignore[call-overload]  # for lack of hints


def _name(call: Call) -> str:
    """A kernel has one name for each type it gives."""
    kind = re.sub("[^a-z0-9]+", "_", str(call.type).lower()).strip("_")
    return f"arroyo_{call.function}_{kind}"


def _is_computed(call: Call) -> bool:
    function = FUNCTIONS.get(call.function)  # the user's own are not among them
    return function is not None and function.is_computed
