"""Calls of declared functions as Spark SQL text.

A function without a form here has the same name, arguments and meaning in Spark, or is computed by a kernel of ours. A
form is a template that names each
argument by its number, or a function of the call and its printed arguments where number, types or constants matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.functions import FUNCTIONS
from engine.plan.expr import Call
from engine.spark.kernels import kernel_to_sql
from engine.spark.printers import Form
from engine.spark.printers.arrays import ARRAYS
from engine.spark.printers.hashing import HASHING
from engine.spark.printers.math import MATH
from engine.spark.printers.operators import OPERATORS
from engine.spark.printers.text import TEXT
from engine.spark.printers.time import TIME
from engine.spark.udfs import udf_to_sql

FORMS: Mapping[str, Form] = {**OPERATORS, **MATH, **TEXT, **HASHING, **TIME, **ARRAYS}


def call_to_sql(call: Call, arguments: Sequence[str], when: str | None = None) -> str:
    """The call with its arguments, and what guards it, already printed; the text can stand inside any other."""
    if call.function not in FUNCTIONS:
        return udf_to_sql(call.function, arguments, when)
    if FUNCTIONS[call.function].is_computed:
        return kernel_to_sql(call, arguments)
    form = FORMS.get(call.function)
    match form:
        case None:
            return f"{call.function}({', '.join(arguments)})"
        case str():
            return form.format(*arguments)
    return form(call, arguments)
