"""How the irregular functions of each family are spelt in Spark SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from engine.plan.expr import Call

Printer: TypeAlias = Callable[[Call, Sequence[str]], str | None]
Form: TypeAlias = str | Printer
