r"""Patterns of LIKE with another escape character, and those of SIMILAR TO.

    name LIKE '10!%%' ESCAPE '!'      name like '10\%%'               with the backslash that LIKE has by itself
    name SIMILAR TO '(a|b)_%.txt'     name ~ '\A(?:(a|b)(?s:.)(?s:.*)\.txt)\z'

Patterns must be constants: they are rewritten here, once, and not for every row.
"""

from __future__ import annotations

import re

from sqlglot import exp

from engine import types
from engine.errors import FunctionArgumentsError
from engine.functions.parsers.regex import why_refused
from engine.plan.expressions.expr import Expr, Literal
from engine.sql.scalar.calls import MakeCall, Translate, negated


def translate_pattern(node: exp.Expr, translate: Translate, make_call: MakeCall) -> Expr | None:
    """The test of a text by such a pattern; None for every other expression."""
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
    """The pattern of LIKE with a backslash as the escape character."""
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
    """The regular expression for all of a text that a pattern of SIMILAR TO means: `%` and `_` as in LIKE, and
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
