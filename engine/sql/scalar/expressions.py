"""Translate scalar expressions from the parser's tree to typed values.

    price * 2 > 10 AND name IS NOT NULL        with price DECIMAL(5, 2) and name TEXT in scope

becomes and(>(*(price, cast(2)), cast(10)), not(is_null(name))), each part with its type. The result only has columns,
literals, casts, CASE and calls of declared functions; no text of the user goes further
(docs/decisions/expressions-are-our-own-values.md). The modules next to this one handle special syntax; each returns
None for anything else.

Functions with keywords between their arguments, such as `substring(text FROM 2 FOR 3)`.

    extract(hour FROM at)               date_part('hour', at)
    overlay(text PLACING x FROM 2)      overlay(text, x, 2)
    position(x IN text)                 strpos(text, x)
    trim(LEADING '0' FROM text)         ltrim(text, '0')

Calls of user-defined functions inside CASE: evaluated only for the rows that take the branch.

    CASE WHEN n <> 0 THEN inverse(n) WHEN n IS NULL THEN f(1) ELSE g(n) END

    inverse(n)   when is_true(n <> 0)
    f(1)         when is_not_true(n <> 0) and is_true(n IS NULL)
    g(n)         when is_not_true(n <> 0) and is_not_true(n IS NULL)

Spark evaluates Python functions before the surrounding expression, also for rows of other branches; so the condition is
part of the call (docs/decisions/functions-of-the-users-are-arrow-functions.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from engine import types
from engine.errors import (
    EngineError,
    OverError,
    TypeMismatchError,
    UnknownColumnError,
    UnknownFunctionError,
    UnsupportedClauseError,
    WindowContextError,
)
from engine.functions import aggregate_names, find_aggregate, find_function, find_over, function_names
from engine.functions.coercion import can_cast, common_type
from engine.functions.elsewhere import instead_of
from engine.plan.expressions.calls import coerce, part_as
from engine.plan.expressions.expr import Call, Case, Cast, Expr, Literal, rewrite, walk
from engine.sql.data_types import translate_type, unit_of
from engine.sql.scalar.comparisons import (
    USE_IN_WHERE,
    Translate,
    TranslateCall,
    clipped,
    make_call,
    negated,
    translate_comparison,
    translate_nested,
    translate_pattern,
)
from engine.sql.scalar.literals import (
    check_constants,
    read_interval,
    translate_literal,
    translate_moved_by_months,
    translate_rows,
)
from engine.sql.scope import Scope, member_of
from engine.sql.text.dialect import Arroyo
from engine.sql.text.parse import Script
from engine.values.durations import read_duration
from engine.values.near_names import did_you_mean, nearest

_CLOCKS = {
    "current_date": "current_date",
    "current_time": "current_time",
    "current_timestamp": "current_timestamp",
    "localtime": "current_time",
    "localtimestamp": "current_timestamp",
}
"""Functions that are called without parentheses, unless a column has the name."""

WINDOWS = ("tumble", "hop", "session", "cumulate")

_OPERATORS: dict[type[exp.Expr], str] = {
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
    """Translates the expressions of one clause of a query. `special` may handle a node that is only valid in that
    clause: aggregates and windows."""

    script: Script
    scope: Scope
    special: Callable[[exp.Expr], Expr | None] = lambda _node: None

    def translate(self, node: exp.Expr) -> Expr:
        """Return the typed value of an expression; errors have their position in the script."""
        try:
            value = self.special(node)
            return self._translate(node) if value is None else value
        except EngineError as error:
            error.at = error.at or self.script.position(node)
            raise

    def condition(self, node: exp.Expr) -> Expr:
        """Return a boolean expression."""
        condition = self.translate(node)
        if not isinstance(condition.type, types.Boolean | types.Null):
            raise TypeMismatchError(
                f"a condition must be BOOLEAN, not {condition.type}",
                hint="compare it with a value",
                at=self.script.position(node),
            )
        return coerce(condition, types.BOOLEAN)

    def _translate(self, node: exp.Expr) -> Expr:
        value = self._with_own_syntax(node)
        if value is None:
            value = self._operator(node)
        if value is None:
            value = self._other(node)
        if value is None:
            value = translate_function(node, self.translate, self._call)
        if value is None:
            raise UnsupportedClauseError(f"{_shown(node)} is not supported here", hint=_hint_for(node))
        return value

    def _with_own_syntax(self, node: exp.Expr) -> Expr | None:
        """Translate the syntax that the modules next to this one read. Rows of values and arrays come before the
        operators that they share with single values."""
        return (
            translate_nested(node, self.translate, make_call)
            or translate_pattern(node, self.translate, make_call)
            or translate_rows(node, self.translate, make_call)
            or translate_moved_by_months(node, self.translate)
            or translate_comparison(node, self._call)
            or translate_literal(node)
        )

    def _operator(self, node: exp.Expr) -> Expr | None:
        match node:
            case exp.And() | exp.Or():
                # A chain of a thousand conditions is one call and no tower of them.
                return self._call(_OPERATORS[type(node)], list(node.flatten(unnest=False)))
            case exp.Neg():
                return self._call("negate", [node.this])
            case exp.Not():
                return self._call("not", [node.this])
        if type(node) in _OPERATORS:
            return negated(node, self._call(_OPERATORS[type(node)], [node.this, node.expression]))
        return None

    def _other(self, node: exp.Expr) -> Expr | None:
        match node:
            case exp.Paren():
                return self.translate(node.this)
            case exp.Column():
                return self._column(node)
            case exp.Dot():
                return self._dot(node)
            case exp.Case():
                return self._case(node)
            case exp.If():
                return self._if([node.this, node.args.get("true"), node.args.get("false")])
            case exp.Anonymous() if node.name.lower() in ("if", "iif") and len(node.expressions) in (2, 3):
                return self._if(node.expressions)
            case exp.Anonymous() if node.name.lower() == "decode" and len(node.expressions) > 2:
                return self._decode(node.expressions)
            case exp.Cast():
                return self._cast(node)
            case exp.Interval():
                return Literal(read_interval(node), types.Interval())
        return None

    def _column(self, node: exp.Column) -> Expr:
        if isinstance(node.this, exp.Star):
            raise UnsupportedClauseError("* is not allowed here", hint="name the columns")
        names = [part.name for part in node.parts]
        try:
            return self.scope.resolve(names)
        except UnknownColumnError:
            if len(names) == 1 and names[0].lower() in _CLOCKS and not node.this.quoted:
                return self._call(_CLOCKS[names[0].lower()], [])
            if len(names) == 1 and node.this.quoted and nearest(names[0], self.scope.names) is None:
                hint = f"text is written in single quotes: '{clipped(names[0])}'"
                raise UnknownColumnError(f"there is no column {names[0]!r} here", hint=hint) from None
            raise

    def _dot(self, node: exp.Dot) -> Expr:
        if not isinstance(node.expression, exp.Identifier):
            raise UnsupportedClauseError(f"{node.sql()} is not supported", hint="write value.member")
        return member_of(self.translate(node.this), node.expression.name)

    def _case(self, node: exp.Case) -> Expr:
        tests: list[Expr] = []
        for branch in node.args["ifs"]:
            if node.this is not None:
                tests.append(self._call("=", [node.this, branch.this]))
            else:
                tests.append(self.condition(branch.this))
        return self._choice(tests, [branch.args["true"] for branch in node.args["ifs"]], node.args.get("default"))

    def _choice(self, tests: Sequence[Expr], chosen: Sequence[exp.Expr], default: exp.Expr | None) -> Expr:
        """Return the value of the first true test, or else the default."""
        values = [self.translate(value) for value in chosen]
        otherwise = None if default is None else self.translate(default)
        kind = _common_type([*values, *([] if otherwise is None else [otherwise])], "the branches of CASE")
        branches = tuple((test, coerce(value, kind)) for test, value in zip(tests, values, strict=True))
        return call_in_branches(Case(branches, None if otherwise is None else coerce(otherwise, kind), kind))

    def _if(self, arguments: Sequence[exp.Expr | None]) -> Expr:
        """Translate IF and IIF: `if(condition, value [, otherwise])`."""
        test, value, *default = [argument for argument in arguments if argument is not None]
        return self._choice([self.condition(test)], [value], default[0] if default else None)

    def _decode(self, arguments: Sequence[exp.Expr]) -> Expr:
        """Translate DECODE with pairs: `decode(value, a, result of a, ..., otherwise)`, where NULL equals NULL."""
        value, *rest = arguments
        pairs, default = rest[: len(rest) // 2 * 2], rest[-1] if len(rest) % 2 else None
        tests = [self._call("is_not_distinct_from", [value, search]) for search in pairs[::2]]
        return self._choice(tests, pairs[1::2], default)

    def _cast(self, node: exp.Cast) -> Expr:
        inner, kind = self.translate(node.this), translate_type(node.to)
        if inner.type == kind:
            return _cut_to_digits(inner, node.to)
        match inner, kind:
            case Literal(str(text)), types.Interval():
                return Literal(read_duration(text), kind)
            case _, types.Timestamp() if isinstance(inner.type, types.Integer):
                return _cut_to_digits(make_call("to_timestamp_seconds", [inner]), node.to)
        if inner.type == types.JSON_PART:
            inner = part_as(inner, kind)
        if not can_cast(inner.type, kind):
            raise TypeMismatchError(f"a value of type {inner.type} cannot be cast to {kind}")
        return _cut_to_digits(check_constants(Cast(inner, kind, lenient=isinstance(node, exp.TryCast))), node.to)

    def _call(self, name: str, arguments: Sequence[exp.Expr]) -> Expr:
        """Return a call of a scalar function; raise for a function that is only valid elsewhere."""
        if name in WINDOWS:
            raise WindowContextError(
                f"window function {name} is not allowed here",
                hint="use it in GROUP BY, or in the SELECT list if GROUP BY refers to it",
            )
        if name == "unnest":
            raise UnsupportedClauseError(
                "unnest is not supported here", hint="use it in the SELECT list of a sub-query"
            )
        if find_aggregate(name) is not None:
            raise UnsupportedClauseError(
                f"aggregate {name} is not allowed here", hint="use aggregates in the SELECT list or in HAVING"
            )
        if find_over(name) is not None:
            raise OverError(f"{name} needs OVER", hint=f"write {name}(...) OVER (PARTITION BY window ...)")
        if find_function(name) is None:
            near = did_you_mean(name, [*function_names(), *aggregate_names(), *WINDOWS])
            hint = instead_of(name) or near or "see the page of functions"
            raise UnknownFunctionError(f"there is no function {name!r}", hint=hint)
        return check_constants(make_call(name, [self.translate(argument) for argument in arguments]))


def _cut_to_digits(value: Expr, written: exp.DataType) -> Expr:
    """Return a TIMESTAMP truncated to the digits of its type, such as TIMESTAMP(3)."""
    unit = unit_of(written)
    return value if unit is None else make_call("date_trunc", [Literal(unit, types.TEXT), value])


def _common_type(values: Sequence[Expr], subject: str) -> types.Type:
    kind: types.Type = types.Null()
    for value in values:
        both = common_type(kind, value.type)
        if both is None:
            raise TypeMismatchError(f"{subject} are of types {kind} and {value.type}", hint="cast one of them")
        kind = both
    return types.TEXT if isinstance(kind, types.Null) else kind


def _shown(node: exp.Expr) -> str:
    return clipped(" ".join(node.sql(dialect=Arroyo, normalize_functions=False).split()))


def _hint_for(node: exp.Expr) -> str | None:
    if isinstance(node, exp.Exists):
        return USE_IN_WHERE
    if isinstance(node, exp.Subquery | exp.Select):
        return "compute it as a column of a sub-query in FROM"
    if isinstance(node, exp.Any | exp.All):
        return "compare it with (SELECT max(...) ...) or (SELECT min(...) ...)"
    if isinstance(node, exp.WithinGroup):
        return instead_of(node.this.name)
    if isinstance(node, exp.AtTimeZone):
        return (
            "write from_utc_timestamp(at, zone) for what the clocks of the zone show at an instant, and "
            "to_utc_timestamp(time, zone) for the instant at which they show a time"
        )
    if isinstance(node, exp.Window):
        return "use OVER in the SELECT list, and its result in a query around it"
    return None


_TRIMS = {"LEADING": "ltrim", "TRAILING": "rtrim"}


def translate_function(node: exp.Expr, translate: Translate, translate_call: TranslateCall) -> Expr | None:
    """Return the call of a function in any spelling; None for every other expression."""
    match node:
        case exp.Anonymous():
            return translate_call(node.name.lower(), node.expressions)
        case exp.Extract():
            return make_call("date_part", [Literal(node.name.lower(), types.TEXT), translate(node.expression)])
        case exp.Substring():
            return translate_call("substr", _present(node.this, node.args.get("start"), node.args.get("length")))
        case exp.Overlay():
            parts = _present(node.this, node.expression, node.args.get("from_"), node.args.get("for_"))
            return translate_call("overlay", parts)
        case exp.StrPosition():
            return translate_call("strpos", [node.this, node.args["substr"]])
        case exp.Trim():
            name = _TRIMS.get(str(node.args.get("position") or "").upper(), "btrim")
            return translate_call(name, _present(node.this, node.expression or None))
    return None


def _present(*arguments: exp.Expr | None) -> list[exp.Expr]:
    return [argument for argument in arguments if argument is not None]


def call_in_branches(case: Case) -> Case:
    """Return the CASE in which calls of the user's functions carry the condition of their branch."""
    before: tuple[Expr, ...] = ()
    branches: list[tuple[Expr, Expr]] = []
    for test, value in case.branches:
        branches.append((_guarded(test, before), _guarded(value, (*before, _is("is_true", test)))))
        before = (*before, _is("is_not_true", test))
    default = None if case.default is None else _guarded(case.default, before)
    return replace(case, branches=tuple(branches), default=default)


def _guarded(expr: Expr, tests: tuple[Expr, ...]) -> Expr:
    if not tests or not any(_is_users(part) for part in walk(expr)):
        return expr
    return rewrite(expr, lambda part: _called_when(part, tests) if isinstance(part, Call) and _is_users(part) else part)


def _called_when(user_call: Call, tests: tuple[Expr, ...]) -> Call:
    conditions = tests if user_call.when is None else (*tests, user_call.when)
    when = conditions[0] if len(conditions) == 1 else Call("and", conditions, types.BOOLEAN)
    return replace(user_call, when=when, nullable=True)


def _is(function: str, test: Expr) -> Expr:
    return Call(function, (test,), types.BOOLEAN, nullable=False)


def _is_users(expr: Expr) -> bool:
    function = find_function(expr.function) if isinstance(expr, Call) else None
    return function is not None and function.by_user
