"""Print expressions as Spark SQL. `expressions` is the entry point; `calls`, `casts` and `literals` print their kinds,
and each family of functions with special forms has a module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from engine.plan.expressions.expr import Call

Printer: TypeAlias = Callable[[Call, Sequence[str]], str | None]
Form: TypeAlias = str | Printer
