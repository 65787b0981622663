"""Making the user's functions callable from Spark SQL, under names that no function of Spark's has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from engine.functions import FUNCTIONS
from engine.plan.expr import Call
from engine.spark.types import to_spark
from engine.udf.declared import Udf, Udfs

_ONCE = "once "


def is_own(call: Call) -> bool:
    """Whether it is a call of a function of the user's."""
    return call.function not in FUNCTIONS


def once(call: Call) -> Call:
    """The call as one that Spark must not copy. It may only stand alone in a column."""
    return replace(call, function=_ONCE + call.function)


def udf_to_sql(name: str, arguments: Sequence[str], when: str | None = None) -> str:
    """A call of a function of the user's; `when` is the condition it is called under, printed as the arguments are."""
    if when is None:
        return f"{_name(name)}({', '.join(arguments)})"
    return f"{_name(name, when=True)}({', '.join([when, *arguments])})"


def rows_to_sql(arguments: Sequence[str]) -> str:
    """The arguments of an aggregate of the user's as one value that is never NULL, to be gathered in a list."""
    members = ", ".join(f"'c{index}', {argument}" for index, argument in enumerate(arguments))
    return f"named_struct({members})"


def register_udfs(spark: SparkSession, udfs: Udfs) -> None:
    """Let the session know the user's functions. Their code is run by tasks only."""
    for function in udfs.by_name.values():
        _register(spark, function)


def _register(spark: SparkSession, function: Udf) -> None:
    from pyspark.sql.pandas.functions import arrow_udf  # noqa: PLC0415 - it imports pandas, which few runs need

    def call(*columns):  # type: ignore[no-untyped-def]  # pyspark would take hints for the kind of function
        from engine.udf.calling import call_udf  # noqa: PLC0415 - only tasks need Arrow

        return call_udf(function, columns)

    def call_when(*columns):  # type: ignore[no-untyped-def]  # as above
        from engine.udf.calling import call_udf  # noqa: PLC0415 - as above

        return call_udf(function, columns[1:], columns[0])

    def aggregate(groups):  # type: ignore[no-untyped-def]  # as above
        from engine.udf.aggregating import aggregate_lists  # noqa: PLC0415 - as above

        return aggregate_lists(function, groups)

    kind, known = to_spark(function.type), spark.udf.register
    if function.kind == "aggregate":
        known(_name(function.name), arrow_udf(aggregate, kind))  # type: ignore[call-overload]  # for lack of hints
        return
    for when, code in ((False, call), (True, call_when)):
        known(_name(function.name, when=when), arrow_udf(code, kind))  # type: ignore[call-overload]  # as above
        uncopied = arrow_udf(code, kind).asNondeterministic()  # type: ignore[call-overload]  # as above
        known(_name(_ONCE + function.name, when=when), uncopied)


def _name(name: str, *, when: bool = False) -> str:
    """What Spark knows a function by; the mark before its name tells which way of calling it is meant."""
    mark, _, rest = name.lower().rpartition(" ")
    return f"arroyo_own{mark}{'when' * when}_{rest}"
