"""Register user-defined functions as Spark SQL functions, under names that clash with no function of Spark."""

from __future__ import annotations

from pyspark.sql import SparkSession

from engine.spark.printers.udfs import UNCOPIED, name_of_udf
from engine.spark.spark_types import to_spark
from engine.udf.declared import Udf, Udfs


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
