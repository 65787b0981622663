"""Print the Arrow name of a value's type. It is known before Spark runs, and printed as a string literal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.functions.arrow_types import to_arrow_name
from engine.plan.expressions.expr import Call
from engine.spark.printers import Form
from engine.spark.printers.literals import text_to_sql


def _type_of(call: Call, _: Sequence[str]) -> str:
    return text_to_sql(to_arrow_name(call.arguments[0].type))


TYPE_NAMES: Mapping[str, Form] = {"arrow_typeof": _type_of}
