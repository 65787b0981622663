"""Functions of regular expressions, with Unicode classes; flags are those of Arroyo, i m s x and g."""

from __future__ import annotations

from engine.functions.base import ANY_CONSTANT, Function, always, takes
from engine.functions.parsers.regex import is_regex, why_refused
from engine.types import BOOLEAN, TEXT, Array


def _are_flags(text: str) -> bool:
    return set(text) <= set("imsxg")


REGEX_FUNCTIONS = (
    Function(
        "regexp_like",
        "regex",
        "regexp_like(text, regex [, flags])",
        "Whether the expression matches somewhere in the text; NULL when an argument is.",
        takes(TEXT, TEXT, TEXT, result=BOOLEAN, optional=1),
        choices={2: ANY_CONSTANT},
        checks={1: is_regex, 2: _are_flags},
        advice=why_refused,
    ),
    Function(
        "regexp_replace",
        "regex",
        "regexp_replace(text, regex, replacement [, flags])",
        "The text with its first match replaced, or all with flag g; NULL when an argument is.",
        takes(TEXT, TEXT, TEXT, TEXT, result=TEXT, optional=1),
        choices={3: ANY_CONSTANT},
        checks={1: is_regex, 3: _are_flags},
        advice=why_refused,
    ),
    Function(
        "regexp_match",
        "regex",
        "regexp_match(text, regex [, flags])",
        "The text of each group in the first match, empty for a group without one, or the whole match without "
        "groups; NULL without a match.",
        takes(TEXT, TEXT, TEXT, result=Array(TEXT), optional=1),
        nullable=always,
        choices={1: ANY_CONSTANT, 2: ANY_CONSTANT},
        checks={1: is_regex, 2: _are_flags},
        advice=why_refused,
    ),
)
