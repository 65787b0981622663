"""Print calls of declared functions as Spark SQL.

A function without a form here has the same name, arguments and semantics in Spark, or is computed by a kernel. A form
is a template that names each argument by its number. Where the number, types or constants of the arguments matter, it
is a function of the call and its printed arguments; if that returns None, a kernel computes the call.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from engine.functions import FUNCTIONS
from engine.plan.expressions.expr import Call
from engine.spark.printers import Form
from engine.spark.printers.arrays import ARRAYS
from engine.spark.printers.arrow_typeof import TYPE_NAMES
from engine.spark.printers.hashing import HASHING
from engine.spark.printers.literals import text_to_sql
from engine.spark.printers.math import MATH
from engine.spark.printers.operators import OPERATORS
from engine.spark.printers.text import TEXT
from engine.spark.printers.time import TIME
from engine.spark.printers.udfs import is_udf, udf_to_sql

FORMS: Mapping[str, Form] = {**OPERATORS, **MATH, **TEXT, **HASHING, **TIME, **ARRAYS, **TYPE_NAMES}


def call_to_sql(call: Call, arguments: Sequence[str], when: str | None = None) -> str:
    """Return the call, given its printed arguments and guards; the text can be embedded in any other."""
    if is_udf(call):
        return udf_to_sql(call.function, arguments, when)
    text = _form_to_sql(call, arguments)
    return _kernel_to_sql(call, arguments) if text is None else text


def needs_kernel(call: Call) -> bool:
    """Whether Spark has no expression for the call, so that a kernel of ours computes it."""
    is_ours = call.function in FUNCTIONS
    return is_ours and _form_to_sql(call, [""] * len(call.arguments)) is None


def name_of_kernel(call: Call) -> str:
    """Return Spark's name of the call's kernel: one for each result type."""
    kind = re.sub("[^a-z0-9]+", "_", str(call.type).lower()).strip("_")
    return f"arroyo_{call.function}_{kind}"


def _form_to_sql(call: Call, arguments: Sequence[str]) -> str | None:
    form = FORMS.get(call.function)
    match form:
        case None:
            is_computed = FUNCTIONS[call.function].is_computed
            return None if is_computed else f"{call.function}({', '.join(arguments)})"
        case str():
            return form.format(*arguments)
    return form(call, arguments)


def _kernel_to_sql(call: Call, arguments: Sequence[str]) -> str:
    """Return the call of a kernel; a missing result fails only if the value is used."""
    text = f"{name_of_kernel(call)}({', '.join(arguments)})"
    if FUNCTIONS[call.function].nullable is not any:
        return text
    are_present = "".join(f" AND {argument} IS NOT NULL" for argument in arguments)
    complaint = text_to_sql(f"{call.function} has no answer for ")
    shown = f"substring(CAST({arguments[0]} AS STRING), 1, 80)"
    return f"(CASE WHEN {text} IS NULL{are_present} THEN raise_error(concat({complaint}, {shown})) ELSE {text} END)"
