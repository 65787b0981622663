"""Functions of types in Spark SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.functions.arrow_types import to_arrow_name
from engine.plan.expr import Call
from engine.spark.literals import text_to_sql
from engine.spark.printers import Form


def _type_of(call: Call, _: Sequence[str]) -> str:
    return text_to_sql(to_arrow_name(call.arguments[0].type))


OTHER: Mapping[str, Form] = {"arrow_typeof": _type_of}
