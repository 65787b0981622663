"""Expressions as Spark SQL text: `expressions` prints them, with `calls`, `casts` and `literals` for their kinds, and a
module for the irregular functions of each family."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from engine.plan.expressions.expr import Call

Printer: TypeAlias = Callable[[Call, Sequence[str]], str | None]
Form: TypeAlias = str | Printer
