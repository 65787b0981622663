"""Patterns of LIKE with another escape character, and those of SIMILAR TO."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from engine import types
from engine.errors import FunctionArgumentsError
from engine.plan.expr import Expr, Literal

Translate = Callable[[exp.Expr], Expr]
MakeCall = Callable[[str, list[Expr]], Expr]


def translate_pattern(node: exp.Expr, translate: Translate, make_call: MakeCall) -> Expr | None:
    """The test of a text by such a pattern; None for every other expression."""
    escape, inner = "\\", node
    if isinstance(node, exp.Escape):
        escape, inner = _text(translate(node.expression), "what stands behind ESCAPE"), node.this
        if len(escape) > 1:
            raise FunctionArgumentsError("ESCAPE takes one character", hint="write ESCAPE '!'")
    match inner:
        case exp.Like() | exp.ILike() if inner is not node:
            pattern = _with_backslashes(_text(translate(inner.expression), "the pattern beside ESCAPE"), escape)
            name = "ilike" if isinstance(inner, exp.ILike) else "like"
        case exp.SimilarTo():
            pattern = _expression(_text(translate(inner.expression), "the pattern of SIMILAR TO"), escape)
            name = "~"
        case _:
            return None
    found = make_call(name, [translate(inner.this), Literal(pattern, types.TEXT)])
    return make_call("not", [found]) if inner.args.get("negate") else found


def _text(value: Expr, what: str) -> str:
    if isinstance(value, Literal) and isinstance(value.value, str):
        return value.value
    raise FunctionArgumentsError(f"{what} must be a constant text", hint="use a regular expression with ~")


def _with_backslashes(pattern: str, escape: str) -> str:
    """The pattern of LIKE with a backslash as the escape character."""
    found, position = "", 0
    while position < len(pattern):
        character = pattern[position]
        if escape and character == escape:
            position += 1
            if position == len(pattern):
                raise FunctionArgumentsError("the pattern ends behind its escape character", hint="write it twice")
            found += re.sub(r"([%_\\])", r"\\\1", pattern[position])
        else:
            found += "\\\\" if character == "\\" else character
        position += 1
    return found


_ORDINARY = re.compile(r"[.^$\\&~]")
_WILD = {"%": "(?s:.*)", "_": "(?s:.)"}


def _expression(pattern: str, escape: str) -> str:
    """The regular expression for all of a text that a pattern of SIMILAR TO means: `%` and `_` as in LIKE, and
    `|`, `*`, `+`, `?`, `{m,n}`, `(...)` and `[...]` as in regular expressions."""
    found, position, in_class = "", 0, False
    while position < len(pattern):
        character = pattern[position]
        if escape and character == escape:
            position += 1
            if position == len(pattern):
                raise FunctionArgumentsError("the pattern ends behind its escape character", hint="write it twice")
            found += re.escape(pattern[position])
        elif in_class:
            in_class = character != "]"
            found += "\\" + character if character in "[\\&~" else character
        elif character == "[":
            in_class = True
            found += character
        else:
            found += _WILD.get(character) or _ORDINARY.sub(r"\\\g<0>", character)
        position += 1
    try:
        re.compile(found)
    except re.error:
        raise FunctionArgumentsError(
            f"{pattern!r} is no pattern", hint="look for a bracket that is not closed"
        ) from None
    return rf"\A(?:{found})\z"
