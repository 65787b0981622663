"""Declarations of user-defined functions, known without running them."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, TypeAlias

from engine.functions import UserFunctions
from engine.functions.base import AggregateFunction, Function, Resolve, takes
from engine.functions.coercion import can_coerce
from engine.types import Array, Decimal, Type

Kind: TypeAlias = Literal["row", "vectorized", "async", "aggregate", "table"]


@dataclass(frozen=True, slots=True)
class UdfFile:
    """Text of a file of functions, and its name in errors."""

    name: str
    text: str = field(repr=False)

    @property
    def digest(self) -> str:
        """Return a digest of the code that ignores comments and layout."""
        try:
            text = ast.unparse(ast.parse(self.text))
        except RecursionError:
            text = self.text  # parsed, it nests too deeply to be written again
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Hint:
    """A type hint: its SQL type, whether None is allowed, and the Python class of a struct."""

    type: Type
    optional: bool = False
    class_name: str | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """Limits of an async function: concurrent calls in a task, timeout, and what happens then."""

    max_in_flight: int
    timeout: timedelta
    gives_null: bool


@dataclass(frozen=True, slots=True)
class Udf:
    """A user-defined function. For an aggregate the parameters are those of one row; for a table function the result is
    that of one row. The last `defaults` parameters are optional. A class gets the rows one by one, and has `methods`.
    Stored objects of an aggregate are valid for all code with the same `state_version`."""

    name: str
    kind: Kind
    file: UdfFile
    line: int
    parameters: tuple[tuple[str, Hint], ...]
    result: Hint
    defaults: int = 0
    waiting: Waiting | None = None
    methods: frozenset[str] = frozenset()
    state_version: int | None = None

    @property
    def is_class(self) -> bool:
        """Whether it takes rows one by one."""
        return bool(self.methods)

    @property
    def usage(self) -> str:
        """Return the signature of the function, for people."""
        return f"{self.name}({', '.join(f'{name} {hint.type}' for name, hint in self.parameters)})"

    @property
    def type(self) -> Type:
        """Return the type of one call in SQL: a table function returns its rows as an array."""
        return Array(self.result.type) if self.kind == "table" else self.result.type

    @property
    def function(self) -> Function:
        """Return the scalar function that scripts may call."""
        return Function(
            self.name.lower(),
            "udf",
            self.usage,
            "A function of the user's.",
            self._resolve,
            nullable=self._nullable,
            gives_rows=self.kind == "table",
            by_user=True,
        )

    @property
    def aggregate(self) -> AggregateFunction:
        """Return the aggregate function that scripts may call."""
        resolve = self._resolve
        return AggregateFunction(
            self.name.lower(),
            self.usage,
            "A function of the user's.",
            resolve,
            nullable=self.result.optional,
            is_ordered=True,
            by_user=True,
            takes_nulls=True,
            takes="all" if not self.methods else "both" if "retract" in self.methods else "forward",
        )

    @property
    def _resolve(self) -> Resolve:
        parameters = (_parameter(hint.type) for _, hint in self.parameters)
        return takes(*parameters, result=self.type, optional=self.defaults)

    @property
    def _nullable(self) -> Callable[[Iterable[bool]], bool]:
        needed = [not hint.optional for _, hint in self.parameters]
        may_give_null = self.result.optional or (self.waiting is not None and self.waiting.gives_null)

        def nullable(arguments: Iterable[bool]) -> bool:
            skipped = any(is_null and need for is_null, need in zip(arguments, needed, strict=False))
            return skipped or (may_give_null and self.kind != "table")

        return nullable


def _parameter(kind: Type) -> Type | Callable[[Type], Type | None]:
    """Return the parameter for a type; a Decimal parameter accepts any DECIMAL unchanged."""
    if not isinstance(kind, Decimal):
        return kind

    def take(argument: Type) -> Type | None:
        return argument if isinstance(argument, Decimal) else kind if can_coerce(argument, kind) else None

    return take


@dataclass(frozen=True, slots=True)
class Udfs:
    """Python functions of one script, by lower-case name."""

    by_name: Mapping[str, Udf]

    @property
    def user_functions(self) -> UserFunctions:
        """Return the functions that the script may call."""
        aggregates = {name: udf.aggregate for name, udf in self.by_name.items() if udf.kind == "aggregate"}
        return UserFunctions(
            {name: udf.function for name, udf in self.by_name.items() if name not in aggregates}, aggregates
        )


NO_UDFS = Udfs({})


def name_files(texts: Sequence[str]) -> tuple[UdfFile, ...]:
    """Return files for texts without names."""
    return tuple(UdfFile(f"udf {number}", text) for number, text in enumerate(texts, 1))
