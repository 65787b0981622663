"""Scalar expressions: from the parser's tree to typed values of ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches

from sqlglot import exp

from engine import types
from engine.durations import read_duration, read_months
from engine.errors import (
    EngineError,
    FunctionArgumentsError,
    OverError,
    TypeMismatchError,
    UnknownColumnError,
    UnknownFunctionError,
    UnsupportedClauseError,
    WindowContextError,
)
from engine.functions import find_aggregate, find_function, find_over, function_names
from engine.functions.coercion import can_cast, common_type
from engine.plan.calls import call, coerce
from engine.plan.expr import Case, Cast, Expr, Literal
from engine.plan.json_calls import part_as
from engine.sql.data_types import translate_type, unit_of
from engine.sql.scalar.arrays_and_structs import translate_nested
from engine.sql.scalar.like_patterns import translate_pattern
from engine.sql.scalar.row_values import translate_rows
from engine.sql.scalar.text_constants import check_constants
from engine.sql.scalar.udf_calls import call_in_branches
from engine.sql.scope import Scope, member_of
from engine.sql.text.dialect import Arroyo
from engine.sql.text.parse import Script

_CLOCKS = ("current_date", "current_time", "current_timestamp")
"""Functions that are called without parentheses, where no column has their name."""

WINDOWS = ("tumble", "hop", "session")

_BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.And: "and",
    exp.Or: "or",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "#",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
    exp.Like: "like",
    exp.ILike: "ilike",
    exp.RegexpLike: "~",
    exp.RegexpILike: "~*",
    exp.NullSafeNEQ: "is_distinct_from",
    exp.NullSafeEQ: "is_not_distinct_from",
    exp.JSONExtract: "json_get",
    exp.JSONExtractScalar: "json_as_text",
    exp.JSONBContainsTopKey: "json_contains",
}


@dataclass(frozen=True, slots=True)
class Expressions:
    """Translates the expressions of one place in a query. `special` may take over a node, for what only has a
    meaning there: aggregates and windows."""

    script: Script
    scope: Scope
    special: Callable[[exp.Expr], Expr | None] = lambda _node: None

    def translate(self, node: exp.Expr) -> Expr:
        """The typed value of an expression; an error says where in the script."""
        try:
            taken = self.special(node)
            return self._translate(node) if taken is None else taken
        except EngineError as error:
            error.at = error.at or self.script.position(node)
            raise

    def condition(self, node: exp.Expr) -> Expr:
        """An expression that must be true or false."""
        found = self.translate(node)
        if not isinstance(found.type, types.Boolean | types.Null):
            raise TypeMismatchError(
                f"a condition must be BOOLEAN, not {found.type}",
                hint="compare it with something",
                at=self.script.position(node),
            )
        return found

    def _translate(self, node: exp.Expr) -> Expr:
        nested = translate_nested(node, self.translate, make_call)
        if nested is None:
            nested = translate_pattern(node, self.translate, make_call) or translate_rows(
                node, self.translate, make_call
            )
        if nested is not None:
            return nested
        if isinstance(node, exp.And | exp.Or):
            return self._call(_BINARY[type(node)], list(node.flatten(unnest=False)))
        if isinstance(node, exp.Add | exp.Sub) and (moved := self._moved_by_months(node)) is not None:
            return moved
        if isinstance(node, exp.EQ | exp.NEQ) and (asked := self._of_array(node)) is not None:
            return asked
        if type(node) in _BINARY:
            return self._negated(node, self._call(_BINARY[type(node)], [node.this, node.expression]))
        match node:
            case exp.Paren():
                return self.translate(node.this)
            case exp.Column():
                return self._column(node)
            case exp.Dot():
                return self._dot(node)
            case exp.Literal() | exp.Boolean() | exp.Null() | exp.HexString() | exp.ByteString():
                return _literal(node)
            case exp.Neg():
                return self._negative(node)
            case exp.Not():
                return self._call("not", [node.this])
            case exp.Is():
                return self._is(node)
            case exp.In():
                return self._in(node)
            case exp.Between():
                return self._between(node)
            case exp.Case():
                return self._case(node)
            case exp.Cast():
                return self._cast(node)
            case exp.Interval():
                return Literal(read_interval(node), types.Interval())
        return self._function(node)

    def _moved_by_months(self, node: exp.Add | exp.Sub) -> Expr | None:
        """A time moved by an interval with months in it. The interval has no value of its own, as its length varies."""
        written, moved = node.expression, node.this
        if isinstance(node, exp.Add) and isinstance(node.this, exp.Interval):
            written, moved = node.this, node.expression
        found = read_months(_interval_text(written)) if isinstance(written, exp.Interval) else None
        if found is None or isinstance(moved, exp.Interval):
            return None
        sign = -1 if isinstance(node, exp.Sub) else 1
        months, rest = found
        start = self.translate(moved)
        value = call("add_months", [start, Literal(sign * months, types.BIGINT)])
        if value is None:
            raise FunctionArgumentsError(
                f"an interval of months cannot move a value of type {start.type}", hint="it moves a TIMESTAMP or DATE"
            )
        return make_call("+", [value, Literal(sign * rest, types.Interval())]) if rest else value

    def _column(self, node: exp.Column) -> Expr:
        if isinstance(node.this, exp.Star):
            raise UnsupportedClauseError("* cannot stand here", hint="name the columns")
        names = [part.name for part in node.parts]
        try:
            return self.scope.resolve(names)
        except UnknownColumnError:
            if len(names) == 1 and names[0].lower() in _CLOCKS and not node.this.quoted:
                return self._call(names[0].lower(), [])
            raise

    def _dot(self, node: exp.Dot) -> Expr:
        if not isinstance(node.expression, exp.Identifier):
            raise UnsupportedClauseError(f"{node.sql()} cannot be read", hint="write value.member")
        return member_of(self.translate(node.this), node.expression.name)

    def _negative(self, node: exp.Neg) -> Expr:
        if isinstance(node.this, exp.Literal) and not node.this.is_string:
            return _number("-" + node.this.name)
        return self._call("negate", [node.this])

    def _negated(self, node: exp.Expr, found: Expr) -> Expr:
        """The parser keeps the NOT of NOT LIKE and IS NOT beside the operands."""
        return make_call("not", [found]) if node.args.get("negate") else found

    def _is(self, node: exp.Is) -> Expr:
        match node.expression:
            case exp.Null():
                return self._negated(node, self._call("is_null", [node.this]))
            case exp.Boolean(this=value):
                return self._negated(node, self._call("is_true" if value else "is_false", [node.this]))
        raise UnsupportedClauseError(f"IS {node.expression.sql()} is not supported", hint="use IS NULL or =")

    def _in(self, node: exp.In) -> Expr:
        if node.args.get("query") or node.args.get("unnest"):
            raise UnsupportedClauseError("IN with a sub-query is not supported here", hint=_ASKED)
        return self._call("in", [node.this, *node.expressions])

    def _between(self, node: exp.Between) -> Expr:
        low, high = node.args["low"], node.args["high"]
        found = self._call("between", [node.this, low, high])
        if not node.args.get("symmetric"):
            return found
        return make_call("or", [found, self._call("between", [node.this, high, low])])

    def _of_array(self, node: exp.EQ | exp.NEQ) -> Expr | None:
        """Whether a value is among the elements of an array, `= ANY(array)`, or is none of them, `<> ALL(array)`."""
        array, word = node.expression, "any" if isinstance(node, exp.EQ) else "all"
        if isinstance(array, exp.Any) and word == "any":
            array = array.this.unnest()
        elif isinstance(array, exp.Anonymous) and array.name.lower() == word and len(array.expressions) == 1:
            array = array.expressions[0]
        else:
            return None
        if isinstance(array, exp.Query):
            raise UnsupportedClauseError(f"{word.upper()} with a sub-query is not supported here", hint=_ASKED)
        if isinstance(array, exp.Array):
            found = self._call("in", [node.this, *array.expressions])
        elif word == "all":
            raise UnsupportedClauseError(
                "ALL takes an array that is written out", hint="use NOT array_has(array, value)"
            )
        else:
            found = self._call("array_has", [array, node.this])
        return found if word == "any" else make_call("not", [found])

    def _case(self, node: exp.Case) -> Expr:
        tests: list[Expr] = []
        for branch in node.args["ifs"]:
            if node.this is not None:
                tests.append(self._call("=", [node.this, branch.this]))
            else:
                tests.append(self.condition(branch.this))
        values = [self.translate(branch.args["true"]) for branch in node.args["ifs"]]
        default = node.args.get("default")
        otherwise = None if default is None else self.translate(default)
        kind = _common([*values, *([] if otherwise is None else [otherwise])], "the branches of CASE")
        branches = tuple((test, coerce(value, kind)) for test, value in zip(tests, values, strict=True))
        return call_in_branches(Case(branches, None if otherwise is None else coerce(otherwise, kind), kind))

    def _cast(self, node: exp.Cast) -> Expr:
        inner, kind = self.translate(node.this), translate_type(node.to)
        if inner.type == kind:
            return _shortened(inner, node.to)
        match inner, kind:
            case Literal(str(text)), types.Interval():
                return Literal(read_duration(text), kind)
            case _, types.Timestamp() if isinstance(inner.type, types.Integer):
                return _shortened(make_call("to_timestamp_seconds", [inner]), node.to)
        if inner.type == types.JSON_PART:
            inner = part_as(inner, kind)
        if not can_cast(inner.type, kind):
            raise TypeMismatchError(f"a value of type {inner.type} cannot become {kind}")
        return _shortened(check_constants(Cast(inner, kind, lenient=isinstance(node, exp.TryCast))), node.to)

    def _function(self, node: exp.Expr) -> Expr:
        match node:
            case exp.Anonymous():
                return self._call(node.name.lower(), node.expressions)
            case exp.Extract():
                return make_call("date_part", [Literal(node.name.lower(), types.TEXT), self.translate(node.expression)])
            case exp.Substring():
                parts = [node.this, node.args.get("start"), node.args.get("length")]
                return self._call("substr", [part for part in parts if part is not None])
            case exp.Overlay():
                written = [node.this, node.expression, node.args.get("from_"), node.args.get("for_")]
                return self._call("overlay", [part for part in written if part is not None])
            case exp.StrPosition():
                return self._call("strpos", [node.this, node.args["substr"]])
            case exp.Trim():
                name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(
                    str(node.args.get("position") or "").upper(), "btrim"
                )
                parts = [node.this, node.expression or None]
                return self._call(name, [part for part in parts if part is not None])
        raise UnsupportedClauseError(f"{_short(node)} is not supported here", hint=_hint_for(node))

    def _call(self, name: str, arguments: Sequence[exp.Expr]) -> Expr:
        if name in WINDOWS:
            raise WindowContextError(
                f"time window function {name} is not allowed in this context. Are you missing a GROUP BY clause?",
                hint="a time window stands in GROUP BY, or in the SELECT list when GROUP BY names it",
            )
        if name == "unnest":
            raise UnsupportedClauseError(
                "unnest is only supported in SELECT statements", hint="put it into the SELECT list of a sub-query"
            )
        if find_aggregate(name) is not None:
            raise UnsupportedClauseError(
                f"the aggregate {name} is not allowed here", hint="aggregates stand in the SELECT list or in HAVING"
            )
        if find_over(name) is not None:
            raise OverError(f"{name} needs OVER", hint=f"write {name}(...) OVER (PARTITION BY window ...)")
        if find_function(name) is None:
            near = get_close_matches(name, function_names(), n=1, cutoff=0.75)
            raise UnknownFunctionError(
                f"there is no function {name!r}",
                hint=f"did you mean {near[0]!r}?" if near else "see the page of functions",
            )
        return check_constants(make_call(name, [self.translate(argument) for argument in arguments]))


def _shortened(value: Expr, written: exp.DataType) -> Expr:
    """A TIMESTAMP without the digits that its type, such as TIMESTAMP(3), has not."""
    unit = unit_of(written)
    return value if unit is None else make_call("date_trunc", [Literal(unit, types.TEXT), value])


def make_call(name: str, arguments: Sequence[Expr]) -> Expr:
    """A declared function applied to arguments, cast to what it takes."""
    found = call(name, arguments)
    if found is not None:
        return found
    function = find_function(name)
    if function is None:
        raise UnknownFunctionError(f"there is no function {name!r}")
    for index, words in function.choices.items():
        if index < len(arguments) and not isinstance(arguments[index], Literal):
            message = f"argument {index + 1} of {function.name} must be a constant"
            raise FunctionArgumentsError(message, hint=f"use it as {function.usage}")
        if index < len(arguments) and words and str(getattr(arguments[index], "value", "")).lower() not in words:
            value = getattr(arguments[index], "value", None)
            raise FunctionArgumentsError(
                f"{function.name} does not know {value!r}", hint=f"it knows {', '.join(sorted(words))}"
            )
    for index, check in function.checks.items():
        value = getattr(arguments[index], "value", None) if index < len(arguments) else None
        if isinstance(value, str) and not check(value):
            message = f"argument {index + 1} of {function.name} cannot be {_clipped(value)!r}"
            raise FunctionArgumentsError(message, hint=f"use it as {function.usage}")
    given = ", ".join(str(argument.type) for argument in arguments)
    hint = f"use it as {function.usage}"
    if any(argument.type == types.JSON_PART for argument in arguments):
        hint = "take what JSON holds as text with ->>, or cast it, for example (value -> 'key')::BIGINT"
    raise FunctionArgumentsError(f"{function.name} does not take ({given})", hint=hint)


def cast_for(expr: Expr, kind: types.Type, what: str) -> Expr:
    """The expression as the type of its target, by any cast that there is. A part of JSON is written out as text, null
    where there is none."""
    if expr.type == types.JSON_PART:
        if kind == types.TEXT:
            return make_call("coalesce", [Cast(expr, kind), Literal("null", kind)])
        expr = part_as(expr, kind)
    if expr.type != kind and not can_cast(expr.type, kind):
        raise TypeMismatchError(f"{what} is {kind}, which a value of type {expr.type} cannot become")
    return coerce(expr, kind)


def read_interval(node: exp.Interval) -> timedelta:
    """The length of an INTERVAL literal."""
    return read_duration(_interval_text(node))


def _interval_text(node: exp.Interval) -> str:
    written = str(node.meta.get("written", ""))
    if any(mark.isalpha() or mark == ":" for mark in written):
        return written
    unit = node.args.get("unit")
    amount = node.this.name if node.this is not None else ""
    return f"{amount} {unit.name}" if unit is not None else amount


def _common(values: Sequence[Expr], what: str) -> types.Type:
    kind: types.Type = types.Null()
    for value in values:
        both = common_type(kind, value.type)
        if both is None:
            raise TypeMismatchError(f"{what} are of types {kind} and {value.type}", hint="cast one of them")
        kind = both
    return types.TEXT if isinstance(kind, types.Null) else kind


def _literal(node: exp.Expr) -> Expr:
    match node:
        case exp.Null():
            return Literal(None, types.Null())
        case exp.Boolean():
            return Literal(bool(node.this), types.BOOLEAN)
        case exp.HexString():
            return Literal(_bytes(node.name), types.Bytes())
        case exp.ByteString():
            return Literal(node.name, types.TEXT)
    if node.args.get("is_string"):
        return Literal(node.name, types.TEXT)
    return _number(node.name)


def _bytes(digits: str) -> bytes:
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise TypeMismatchError(f"x'{_clipped(digits)}' is not raw bytes", hint="write two digits a byte") from None


def _number(text: str) -> Expr:
    try:
        if not any(mark in text for mark in ".eE"):
            return _integer(int(text))
        value = float(Decimal(text))
    except (ValueError, InvalidOperation):
        value = math.inf
    if math.isinf(value):
        raise TypeMismatchError(f"{_clipped(text)} is not a number that can be held")
    return Literal(value, types.DOUBLE)


def _integer(value: int) -> Expr:
    if not -(2**63) <= value < 2**63:
        raise TypeMismatchError(
            f"{_clipped(str(value))} does not fit into BIGINT", hint="write it with a decimal point"
        )
    return Literal(value, types.BIGINT)


def _short(node: exp.Expr) -> str:
    return _clipped(" ".join(node.sql(dialect=Arroyo, normalize_functions=False).split()))


def _clipped(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


_ASKED = "WHERE can ask it, alone or beside other conditions with AND"


def _hint_for(node: exp.Expr) -> str | None:
    if isinstance(node, exp.Subquery | exp.Select | exp.Exists):
        return _ASKED if isinstance(node, exp.Exists) else "put it into a column of a sub-query in FROM"
    if isinstance(node, exp.Any | exp.All):
        return "compare it with (SELECT max(...) ...) or (SELECT min(...) ...)"
    if isinstance(node, exp.Window):
        return "OVER stands in the SELECT list; use what it gives in a query around it"
    return None
