"""Python functions for SQL scripts: `from engine.udf import udf, udaf, udtf`.

The compiler parses a file of functions and never runs it; only the tasks of a driver do. Importing this package loads
only the decorators.
"""

from __future__ import annotations

from engine.udf.requirements import udaf, udf, udtf

__all__ = ["udaf", "udf", "udtf"]
