r"""Print regular expressions in Spark SQL, translated from Arroyo's syntax to Java's (`functions/parsers/regex.py`).

A pattern that is no constant is translated by a kernel when it runs; one that is refused ends the run.

Flag U gives \d, \w and \s their Unicode meaning. With flag d, only a newline ends a line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from engine.functions.parsers.regex import JAVA_REGEX, java_name, to_java
from engine.plan.expressions.expr import Call, Expr, Literal
from engine.spark.printers import Form, Printer
from engine.spark.printers.literals import text_to_sql

REGEX_KERNEL = f"arroyo_{JAVA_REGEX}"
"""Spark's name of the kernel that translates patterns."""
_REST = "engineRest"
_NAMED = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_.\[\]]*)\}")
_REFERENCE = re.compile(r"\$\$|\$\{([^}]*)\}|\$([0-9]+)|\\([0-9])", re.ASCII)
_REPLACEMENTS = (
    (r"\\(?![0-9])", r"\\\\"),
    (r"\$\$|\$(?![0-9{])", r"\\\$"),
    (r"\$\{([0-9]+)\}", r"\$$1"),
    (r"\\([0-9])", r"\$$1"),
)


def matches(pattern: Expr, text: str, printed: str, *, flags: str = "") -> str:
    """Return the test whether the pattern matches somewhere in the text; `printed` is the pattern in Spark SQL."""
    return f"({text} RLIKE {_expression(pattern, printed, flags)})"


def _flags(call: Call, position: int) -> str:
    """Return the constant flags of the call, or none."""
    match call.arguments[position:]:
        case (Literal(str(flags)),):
            return flags.lower()
    return ""


def _expression(pattern: Expr, printed: str, flags: str, suffix: str = "") -> str:
    """Print the pattern as a Java pattern."""
    kept = "".join(letter for letter in flags if letter in "ims")
    match pattern:
        case Literal(str(text)):
            return text_to_sql(f"(?Ud{kept})(?:{to_java(text, flags).pattern}){suffix}")
        case Literal():
            return "CAST(NULL AS STRING)"
    translated = f"{REGEX_KERNEL}({printed}, {text_to_sql(flags)})"
    shown = (
        f"concat('the regular expression ', substring({printed}, 1, 80), ' is refused: ', substring({translated}, 2))"
    )
    refused = f"startswith({translated}, '!')"
    pattern_in_java = f"(CASE WHEN {refused} THEN raise_error({shown}) ELSE substring({translated}, 2) END)"
    return f"concat({text_to_sql(f'(?Ud{kept})(?:')}, {pattern_in_java}, {text_to_sql(')' + suffix)})"


def _like(call: Call, arguments: Sequence[str]) -> str:
    return matches(call.arguments[1], arguments[0], arguments[1], flags=_flags(call, 2))


def _replace(call: Call, arguments: Sequence[str]) -> str:
    text, pattern, replacement = arguments[:3]
    flags = _flags(call, 3)
    match call.arguments[2]:
        case Literal(str(constant)):
            present = _without_missing(constant, call.arguments[1], flags)
            replacement = text_to_sql(_NAMED.sub(lambda named: f"${{{java_name(named[1])}}}", present))
    for spelling, java_spelling in _REPLACEMENTS:
        replacement = f"regexp_replace({replacement}, {text_to_sql(spelling)}, {text_to_sql(java_spelling)})"
    if "g" in flags:
        return f"regexp_replace({text}, {_expression(call.arguments[1], pattern, flags)}, {replacement})"
    # Spark replaces every match. Here the first one takes the rest of the text with it, and puts it back.
    first = _expression(call.arguments[1], pattern, flags, suffix=f"(?<{_REST}>(?s:.*))")
    return f"regexp_replace({text}, {first}, concat({replacement}, {text_to_sql(f'${{{_REST}}}')}))"


def _without_missing(replacement: str, pattern: Expr, flags: str) -> str:
    """Remove references to groups that a constant pattern lacks. They are empty in Rust, and an error in Java."""
    match pattern:
        case Literal(str(text)):
            java = to_java(text, flags)
        case _:
            return replacement

    def kept(reference: re.Match[str]) -> str:
        name = reference[1] or reference[2] or reference[3]
        if not name:
            return reference[0]
        is_present = int(name) <= java.groups if name.isdecimal() else f"(?<{java_name(name)}>" in java.pattern
        return reference[0] if is_present else ""

    return _REFERENCE.sub(kept, replacement)


def _match(call: Call, arguments: Sequence[str]) -> str:
    text, pattern = arguments[:2]
    flags = _flags(call, 2)
    match call.arguments[1]:
        case Literal(str(constant)):
            groups = to_java(constant, flags).groups
        case _:
            raise TypeError("the expression of regexp_match is a constant")
    expression = _expression(call.arguments[1], pattern, flags)
    captured = [f"regexp_extract({text}, {expression}, {group})" for group in range(1, groups + 1)]
    whole = f"regexp_extract({text}, {expression}, 0)"
    return f"(CASE WHEN {text} RLIKE {expression} THEN array({', '.join(captured or [whole])}) END)"


def _searched(name: str) -> Printer:
    def form(call: Call, arguments: Sequence[str]) -> str:
        expression = _expression(call.arguments[1], arguments[1], "")
        groups = [f"CAST({group} AS INT)" for group in arguments[2:]]
        return f"{name}({', '.join((arguments[0], expression, *groups))})"

    return form


_SEARCHES = ("regexp_extract", "regexp_extract_all", "regexp_count", "regexp_instr", "regexp_substr")
REGEX: Mapping[str, Form] = {
    "regexp_like": _like,
    "regexp_replace": _replace,
    "regexp_match": _match,
    **{name: _searched(name) for name in _SEARCHES},
}
