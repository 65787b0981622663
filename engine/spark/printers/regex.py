r"""Regular expressions in Spark SQL: Java's, told to behave like those of Arroyo.

Flag U gives \d, \w and \s their Unicode meaning, flag d makes a newline the only end of a line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.plan.expr import Call, Literal
from engine.spark.printers import Form
from engine.spark.printers.literals import text_to_sql

_REST = "engineRest"
_REPLACEMENTS = (
    (r"\\(?![0-9])", r"\\\\"),
    (r"\$\$|\$(?![0-9{])", r"\\\$"),
    (r"\$\{([0-9]+)\}", r"\$$1"),
    (r"\\([0-9])", r"\$$1"),
)


def matches(text: str, pattern: str, *, flags: str = "") -> str:
    """Whether the pattern matches somewhere in the text."""
    return f"({text} RLIKE {_expression(pattern, flags)})"


def count_groups(pattern: str) -> int:
    """How many groups of the pattern capture."""
    count, in_class, position = 0, False, 0
    while position < len(pattern):
        character = pattern[position]
        if character == "\\":
            position += 1
        elif in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = True
            # A bracket right after the opening one is an ordinary character.
            position += 1 if pattern[position + 1 : position + 2] == "]" else 0
        elif character == "(":
            following = pattern[position + 1 : position + 4]
            named = following.startswith(("?<", "?P<")) and not following.startswith(("?<=", "?<!"))
            count += not following.startswith("?") or named
        position += 1
    return count


def _flags(call: Call, position: int) -> str:
    """The constant flags that stand there, or none."""
    match call.arguments[position:]:
        case (Literal(str(flags)),):
            return flags.lower()
    return ""


def _expression(pattern: str, flags: str, suffix: str = "") -> str:
    options = text_to_sql(f"(?Ud{flags.replace('g', '')})(?:")
    # With flag x a comment may run to the end of the pattern's last line.
    end = text_to_sql(("\n)" if "x" in flags else ")") + suffix)
    return f"concat({options}, replace({pattern}, '(?P<', '(?<'), {end})"


def _like(call: Call, arguments: Sequence[str]) -> str:
    return matches(arguments[0], arguments[1], flags=_flags(call, 2))


def _replace(call: Call, arguments: Sequence[str]) -> str:
    text, pattern, replacement = arguments[:3]
    flags = _flags(call, 3)
    for spelling, java_spelling in _REPLACEMENTS:
        replacement = f"regexp_replace({replacement}, {text_to_sql(spelling)}, {text_to_sql(java_spelling)})"
    if "g" in flags:
        return f"regexp_replace({text}, {_expression(pattern, flags)}, {replacement})"
    # Spark replaces every match. Here the first one takes the rest of the text with it, and puts it back.
    first = _expression(pattern, flags, suffix=f"(?<{_REST}>(?s:.*))")
    return f"regexp_replace({text}, {first}, concat({replacement}, {text_to_sql(f'${{{_REST}}}')}))"


def _match(call: Call, arguments: Sequence[str]) -> str:
    text, pattern = arguments[:2]
    flags = _flags(call, 2)
    match call.arguments[1]:
        case Literal(str(constant)):
            groups = count_groups(constant)
        case _:
            raise TypeError("the expression of regexp_match is a constant")
    expression = _expression(pattern, flags)
    captured = [f"regexp_extract({text}, {expression}, {group})" for group in range(1, groups + 1)]
    whole = f"regexp_extract({text}, {expression}, 0)"
    return f"(CASE WHEN {text} RLIKE {expression} THEN array({', '.join(captured or [whole])}) END)"


REGEX: Mapping[str, Form] = {"regexp_like": _like, "regexp_replace": _replace, "regexp_match": _match}
