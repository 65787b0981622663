"""Register our kernels and user-defined functions as Spark SQL functions, under names that clash with no function of
Spark.
"""

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
from engine.spark.printers.udfs import UNCOPIED, name_of_udf
from engine.spark.spark_types import to_spark
from engine.udf.declared import Udf, Udfs


def register_kernels(spark: SparkSession, nodes: Iterable[Node]) -> None:
    """Let the session know every kernel that the plans call."""
    register_calls(spark, (call for node in nodes for call in calls_of(node)))


def register_calls(spark: SparkSession, calls: Iterable[Call]) -> None:
    """Let the session know the kernels of these calls."""
    every = list(calls)
    calls_by_name = {name_of_kernel(call): call for call in every if needs_kernel(call)}
    for name, call in calls_by_name.items():
        _register_kernel(spark, name, call.function, call.type)
    if any(map(has_unknown_regex, every)):
        _register_kernel(spark, REGEX_KERNEL, JAVA_REGEX, types.TEXT)


def _register_kernel(spark: SparkSession, name: str, function: str, kind: types.Type) -> None:
    from pyspark.sql.pandas.functions import arrow_udf  # noqa: PLC0415 - it imports pandas, which few runs need

    def compute(*columns):  # type: ignore[no-untyped-def]  # pyspark would take hints for the kind of function
        from engine.arrow.functions import FUNCTION_KERNELS, HELPER_KERNELS  # noqa: PLC0415 - only tasks need Arrow
        from engine.schema import to_arrow  # noqa: PLC0415

        kernel = HELPER_KERNELS[function] if function in HELPER_KERNELS else FUNCTION_KERNELS[function]
        return kernel(*columns).cast(to_arrow(kind))

    spark.udf.register(name, arrow_udf(compute, to_spark(kind)))  # type: ignore[call-overload]  # for lack of hints


def register_udfs(spark: SparkSession, udfs: Udfs) -> None:
    """Let the session know the user's functions. Their code is run by tasks only."""
    for function in udfs.by_name.values():
        _register_udf(spark, function)


def _register_udf(spark: SparkSession, function: Udf) -> None:
    from pyspark.sql.pandas.functions import arrow_udf  # noqa: PLC0415 - it imports pandas, which few runs need

    def call(*columns):  # type: ignore[no-untyped-def]  # pyspark would take hints for the kind of function
        from engine.udf.calling import call_udf  # noqa: PLC0415 - only tasks need Arrow

        return call_udf(function, columns)

    def call_when(*columns):  # type: ignore[no-untyped-def]  # as above
        from engine.udf.calling import call_udf  # noqa: PLC0415 - as above

        return call_udf(function, columns[1:], columns[0])

    def aggregate(groups):  # type: ignore[no-untyped-def]  # as above
        from engine.udf.calling import aggregate_lists  # noqa: PLC0415 - as above

        return aggregate_lists(function, groups)

    result = to_spark(function.type)
    if function.kind == "aggregate":
        aggregate_udf = arrow_udf(aggregate, result)  # type: ignore[call-overload]  # for lack of hints
        spark.udf.register(name_of_udf(function.name), aggregate_udf)
        return
    for when, code in ((False, call), (True, call_when)):
        udf = arrow_udf(code, result)  # type: ignore[call-overload]  # as above
        uncopied_udf = arrow_udf(code, result).asNondeterministic()  # type: ignore[call-overload]  # as above
        spark.udf.register(name_of_udf(function.name, when=when), udf)
        spark.udf.register(name_of_udf(UNCOPIED + function.name, when=when), uncopied_udf)
