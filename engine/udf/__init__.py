"""Functions in Python for scripts in SQL: `from engine.udf import udf, udaf, udtf`.

A file of functions is read by the compiler and never run by it; it is run by the tasks of a driver only. Importing
this package loads nothing but the decorators.
"""

from __future__ import annotations

from engine.udf.decorators import udaf, udf, udtf

__all__ = ["udaf", "udf", "udtf"]
