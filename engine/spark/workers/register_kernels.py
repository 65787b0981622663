"""Register our kernels as Spark SQL functions, under names that clash with no function of Spark."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import SparkSession

from engine import types
from engine.functions.parsers.regex import JAVA_REGEX
from engine.plan.expressions.conditions import has_unknown_regex
from engine.plan.expressions.expr import Call
from engine.plan.identity.written import calls_of
from engine.plan.tree import Node
from engine.spark.printers.calls import name_of_kernel, needs_kernel
from engine.spark.printers.regex import REGEX_KERNEL
from engine.spark.spark_types import to_spark


def register_kernels(spark: SparkSession, nodes: Iterable[Node]) -> None:
    """Let the session know every kernel that the plans call."""
    register_calls(spark, (call for node in nodes for call in calls_of(node)))


def register_calls(spark: SparkSession, calls: Iterable[Call]) -> None:
    """Let the session know the kernels of these calls."""
    every = list(calls)
    calls_by_name = {name_of_kernel(call): call for call in every if needs_kernel(call)}
    for name, call in calls_by_name.items():
        _register(spark, name, call.function, call.type)
    if any(map(has_unknown_regex, every)):
        _register(spark, REGEX_KERNEL, JAVA_REGEX, types.TEXT)


def _register(spark: SparkSession, name: str, function: str, kind: types.Type) -> None:
    from pyspark.sql.pandas.functions import arrow_udf  # noqa: PLC0415 - it imports pandas, which few runs need

    def compute(*columns):  # type: ignore[no-untyped-def]  # pyspark would take hints for the kind of function
        from engine.arrow.functions import FUNCTION_KERNELS, HELPER_KERNELS  # noqa: PLC0415 - only tasks need Arrow
        from engine.schema import to_arrow  # noqa: PLC0415

        kernel = HELPER_KERNELS[function] if function in HELPER_KERNELS else FUNCTION_KERNELS[function]
        return kernel(*columns).cast(to_arrow(kind))

    spark.udf.register(name, arrow_udf(compute, to_spark(kind)))  # type: ignore[call-overload]  # for lack of hints
