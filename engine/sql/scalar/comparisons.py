r"""Comparisons with special syntax: IS, IN, BETWEEN, = ANY and <> ALL.

Patterns of LIKE with another escape character, and of SIMILAR TO.

    name LIKE '10!%%' ESCAPE '!'      name like '10\%%'               with the backslash, LIKE's default
    name SIMILAR TO '(a|b)_%.txt'     name ~ '\A(?:(a|b)(?s:.)(?s:.*)\.txt)\z'

Patterns must be constants: they are rewritten once, at compile time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sqlglot import exp

from engine import types
from engine.errors import FunctionArgumentsError, TypeMismatchError, UnknownFunctionError, UnsupportedClauseError
from engine.functions import find_function
from engine.functions.base import Function
from engine.functions.coercion import can_cast
from engine.functions.parsers.regex import why_refused
from engine.plan.expressions.calls import call, coerce, make_struct, part_as, why_constants_differ
from engine.plan.expressions.expr import Cast, Column, Expr, Literal
from engine.sql.data_types import usable_members
from engine.sql.scope import member_of

USE_IN_WHERE = "use it in WHERE, alone or beside other conditions with AND"


def translate_comparison(node: exp.Expr, translate_call: TranslateCall) -> Expr | None:
    """Return the value of such a test; None for every other expression."""
    match node:
        case exp.Is():
            return _is(node, translate_call)
        case exp.In():
            if node.args.get("query") or node.args.get("unnest"):
                raise UnsupportedClauseError("IN with a sub-query is not supported here", hint=USE_IN_WHERE)
            return translate_call("in", [node.this, *node.expressions])
        case exp.Between():
            return _between(node, translate_call)
        case exp.EQ() | exp.NEQ():
            return _among_elements(node, translate_call)
    return None


def _is(node: exp.Is, translate_call: TranslateCall) -> Expr:
    match node.expression:
        case exp.Null():
            return negated(node, translate_call("is_null", [node.this]))
        case exp.Boolean(this=value):
            return negated(node, translate_call("is_true" if value else "is_false", [node.this]))
    raise UnsupportedClauseError(f"IS {node.expression.sql()} is not supported", hint="use IS NULL or =")


def _between(node: exp.Between, translate_call: TranslateCall) -> Expr:
    low, high = node.args["low"], node.args["high"]
    between = translate_call("between", [node.this, low, high])
    if not node.args.get("symmetric"):
        return between
    return make_call("or", [between, translate_call("between", [node.this, high, low])])


def _among_elements(node: exp.EQ | exp.NEQ, translate_call: TranslateCall) -> Expr | None:
    """Return the test whether a value equals an element of an array, `= ANY(array)`, or none of them, `<>
    ALL(array)`."""
    word = "any" if isinstance(node, exp.EQ) else "all"
    array = _array_behind(word, node.expression)
    if array is None:
        return None
    if isinstance(array, exp.Query):
        raise UnsupportedClauseError(f"{word.upper()} with a sub-query is not supported here", hint=USE_IN_WHERE)
    if isinstance(array, exp.Array):
        is_among = translate_call("in", [node.this, *array.expressions])
    elif word == "all":
        raise UnsupportedClauseError("ALL takes an array literal", hint="use NOT array_has(array, value)")
    else:
        is_among = translate_call("array_has", [array, node.this])
    return is_among if word == "any" else make_call("not", [is_among])


def _array_behind(word: str, node: exp.Expr) -> exp.Expr | None:
    """Return the array in the parentheses of ANY or ALL; the parser knows ANY, and parses ALL as a function."""
    array: exp.Expr | None = None
    if isinstance(node, exp.Any) and word == "any":
        array = node.this.unnest()
    elif isinstance(node, exp.Anonymous) and node.name.lower() == word and len(node.expressions) == 1:
        array = node.expressions[0]
    return array


def translate_pattern(node: exp.Expr, translate: Translate, make_call: MakeCall) -> Expr | None:
    """Return the test of a text by a pattern; None for every other expression."""
    escape, inner = "\\", node
    if isinstance(node, exp.Escape):
        escape, inner = _constant(translate(node.expression), "the ESCAPE character"), node.this
        if len(escape) > 1:
            raise FunctionArgumentsError("ESCAPE takes a single character", hint="write ESCAPE '!'")
    match inner:
        case exp.Like() | exp.ILike() if inner is not node:
            pattern = _with_backslashes(
                _constant(translate(inner.expression), "the pattern of LIKE ... ESCAPE"), escape
            )
            name = "ilike" if isinstance(inner, exp.ILike) else "like"
        case exp.SimilarTo():
            pattern = _regular_expression(_constant(translate(inner.expression), "the pattern of SIMILAR TO"), escape)
            name = "~"
        case _:
            return None
    return negated(inner, make_call(name, [translate(inner.this), Literal(pattern, types.TEXT)]))


def _constant(value: Expr, subject: str) -> str:
    if isinstance(value, Literal) and isinstance(value.value, str):
        return value.value
    raise FunctionArgumentsError(f"{subject} must be a constant text", hint="use a regular expression with ~")


def _with_backslashes(pattern: str, escape: str) -> str:
    """Return the pattern of LIKE with a backslash as the escape character."""
    rewritten, position = "", 0
    while position < len(pattern):
        character = pattern[position]
        if escape and character == escape:
            position += 1
            if position == len(pattern):
                raise FunctionArgumentsError(
                    "the pattern ends with its escape character", hint="write the character twice"
                )
            rewritten += re.sub(r"([%_\\])", r"\\\1", pattern[position])
        else:
            rewritten += "\\\\" if character == "\\" else character
        position += 1
    return rewritten


_ORDINARY = re.compile(r"[.^$\\&~]")
_POSIX = re.compile(r"\[:\^?\w+:\]")
_WILD = {"%": "(?s:.*)", "_": "(?s:.)"}


def _regular_expression(pattern: str, escape: str) -> str:
    """Return the regular expression for a whole text that matches a pattern of SIMILAR TO: `%` and `_` as in LIKE, and
    `|`, `*`, `+`, `?`, `{m,n}`, `(...)` and `[...]` as in regular expressions."""
    expression, position, in_class = "", 0, False
    while position < len(pattern):
        character = pattern[position]
        if escape and character == escape:
            position += 1
            if position == len(pattern):
                raise FunctionArgumentsError(
                    "the pattern ends with its escape character", hint="write the character twice"
                )
            expression += re.escape(pattern[position])
        elif in_class and (posix := _POSIX.match(pattern, position)) is not None:
            expression += posix[0]
            position = posix.end() - 1
        elif in_class:
            in_class = character != "]"
            expression += "\\" + character if character in "[\\&~" else character
        elif character == "[":
            in_class = True
            expression += character
        else:
            expression += _WILD.get(character) or _ORDINARY.sub(r"\\\g<0>", character)
        position += 1
    if (reason := why_refused(expression)) is not None:
        raise FunctionArgumentsError(f"pattern {pattern!r} is not valid", hint=reason)
    return rf"\A(?:{expression})\z"


_OPERATORS: dict[type[exp.Expr], str] = {exp.ArrayContainsAll: "array_has_all", exp.ArrayOverlaps: "array_has_any"}


def translate_nested(node: exp.Expr, translate: Translate, make_call: MakeCall) -> Expr | None:
    """Return the value of an expression that constructs an array or a struct, or reads one; None for all others."""
    match node:
        case exp.Array():
            return make_call("make_array", [translate(element) for element in node.expressions])
        case exp.Struct():
            return _literal(node, translate)
        case exp.Anonymous() if node.name.lower() == "struct":
            return _call(node, translate)
        case exp.Anonymous() if node.name.lower() == "named_struct":
            return _named_struct(node, translate, make_call)
        case exp.Bracket():
            return _subscript(node, translate, make_call)
        case exp.ArrayContainsAll() | exp.ArrayOverlaps():
            return make_call(_OPERATORS[type(node)], [translate(node.this), translate(node.expression)])
        case exp.ArrayContainedBy():
            return make_call("array_has_all", [translate(node.expression), translate(node.this)])
        case exp.DPipe():
            return _joined(translate(node.this), translate(node.expression), make_call)
    return None


def _joined(left: Expr, right: Expr, make_call: MakeCall) -> Expr:
    """Return the call for `||`, which concatenates arrays, appends elements, or else concatenates text."""
    match left.type, right.type:
        case types.Array(), types.Array():
            return make_call("array_concat", [left, right])
        case types.Array(), _:
            return make_call("array_append", [left, right])
        case _, types.Array():
            return make_call("array_prepend", [left, right])
    return make_call("||", [left, right])


def _subscript(node: exp.Bracket, translate: Translate, make_call: MakeCall) -> Expr:
    value = translate(node.this)
    if len(node.expressions) != 1:
        raise UnsupportedClauseError("an array takes a single subscript", hint="write array[1][2]")
    match node.expressions[0]:
        case exp.Slice() as part:
            ends = [(part.this, 1), (part.expression, -1)]
            bounds = [translate(end) if end else Literal(default, types.BIGINT) for end, default in ends]
            step = part.args.get("step")
            return make_call("array_slice", [value, *bounds, *([translate(step)] if step else [])])
        case exp.Literal(is_string=True) as name if isinstance(value.type, types.Struct):
            return member_of(value, name.name)
        case written:
            if not isinstance(value.type, types.Array):
                raise FunctionArgumentsError(
                    f"a value of type {value.type} has no elements",
                    hint="only arrays take a subscript; read members of JSON with -> and ->>",
                )
            return make_call("array_element", [value, translate(written)])


def _literal(node: exp.Struct, translate: Translate) -> Expr:
    names, values = [], []
    for part in node.expressions:
        if not isinstance(part, exp.PropertyEQ):
            raise UnsupportedClauseError("a struct literal has the form {name: value, ...}")
        names.append(part.this.name)
        values.append(translate(part.expression))
    return _struct(names, values)


def _call(node: exp.Anonymous, translate: Translate) -> Expr:
    names = [member.alias or f"c{index}" for index, member in enumerate(node.expressions)]
    return _struct(names, [translate(member.unalias()) for member in node.expressions])


def _named_struct(node: exp.Anonymous, translate: Translate, make_call: MakeCall) -> Expr:
    struct = make_call("named_struct", [translate(argument) for argument in node.expressions])
    if isinstance(struct.type, types.Struct):
        usable_members([member.name for member in struct.type.members])
    return struct


def _struct(names: list[str], values: list[Expr]) -> Expr:
    usable_members(names)
    struct = make_struct(names, values)
    if struct is None:
        raise FunctionArgumentsError(
            "the members of a struct must have different names", hint="use struct(value AS name, ...)"
        )
    return struct


Translate = Callable[[exp.Expr], Expr]
"""Translates a node of the parser's tree."""
MakeCall = Callable[[str, Sequence[Expr]], Expr]
"""Makes a call with translated arguments."""
TranslateCall = Callable[[str, Sequence[exp.Expr]], Expr]
"""Makes a call whose arguments are nodes of the parser's tree."""


def make_call(name: str, arguments: Sequence[Expr]) -> Expr:
    """Return a call of a declared function, with its arguments cast to the parameters."""
    typed_call = call(name, arguments)
    if typed_call is not None:
        return typed_call
    function = find_function(name)
    if function is None:
        raise UnknownFunctionError(f"there is no function {name!r}")
    _check_constants(function, arguments)
    listing = ", ".join(str(argument.type) for argument in arguments)
    hint = f"use it as {function.usage}"
    if any(argument.type == types.JSON_PART for argument in arguments):
        hint = "read the JSON value as text with ->>, or cast it, for example (value -> 'key')::BIGINT"
    elif (fitting := _fitting_cast(name, arguments)) is not None:
        hint = f"{hint}; {fitting} would fit"
    raise FunctionArgumentsError(f"{function.name} does not take ({listing})", hint=hint)


def _fitting_cast(name: str, arguments: Sequence[Expr]) -> str | None:
    """Return the cast of one argument that makes the call fit: to the type of another argument, or to TEXT."""
    for index, argument in sorted(enumerate(arguments), key=lambda item: not isinstance(item[1].type, types.Text)):
        others = [other.type for other in (*arguments[:index], *arguments[index + 1 :])]
        for kind in (*others, types.TEXT):
            if kind == argument.type or not can_cast(argument.type, kind):
                continue
            if call(name, [*arguments[:index], Cast(argument, kind), *arguments[index + 1 :]]) is not None:
                return f"{argument.name if isinstance(argument, Column) else 'value'}::{kind}"
    return None


def cast_for(expr: Expr, kind: types.Type, target: str) -> Expr:
    """Return the expression in the type of its target, by any existing cast. A part of JSON becomes text, null if it is
    absent."""
    if expr.type == types.JSON_PART:
        if kind == types.TEXT:
            return make_call("coalesce", [Cast(expr, kind), Literal("null", kind)])
        expr = part_as(expr, kind)
    if expr.type != kind and not can_cast(expr.type, kind):
        raise TypeMismatchError(f"{target} is of type {kind}, to which {expr.type} cannot be cast")
    return coerce(expr, kind)


def negated(node: exp.Expr, value: Expr) -> Expr:
    """Return the test, or its opposite: the parser stores the NOT of NOT LIKE and IS NOT next to the operands."""
    return make_call("not", [value]) if node.args.get("negate") else value


def clipped(text: str) -> str:
    """Return the text for an error, truncated if it is long."""
    return text if len(text) <= 60 else text[:57] + "..."


def _check_constants(function: Function, arguments: Sequence[Expr]) -> None:
    """Raise if arguments are not the constants that they must be."""
    for index, words in function.choices.items():
        if index >= len(arguments):
            continue
        argument = arguments[index]
        if not isinstance(argument, Literal):
            raise FunctionArgumentsError(
                f"argument {index + 1} of {function.name} must be a constant", hint=f"use it as {function.usage}"
            )
        if words and str(argument.value).lower() not in words:
            raise FunctionArgumentsError(
                f"{argument.value!r} is not a valid argument of {function.name}",
                hint=f"it takes {', '.join(sorted(words))}",
            )
    for index, is_valid in function.checks.items():
        match arguments[index : index + 1]:
            case [Literal(str(text))] if not is_valid(text):
                advice = None if function.advice is None else function.advice(text)
                raise FunctionArgumentsError(
                    f"argument {index + 1} of {function.name} cannot be {clipped(text)!r}",
                    hint=advice or f"use it as {function.usage}",
                )
    if (reason := why_constants_differ(function, arguments)) is not None:
        raise FunctionArgumentsError(reason, hint=f"use it as {function.usage}")
