"""Functions of regular expressions, with Unicode classes; flags are those of the reference engine, i m s x and g."""

from __future__ import annotations

from itertools import permutations

from engine.functions.base import Function, always, any_value, one_of, takes
from engine.types import BOOLEAN, TEXT, Array

FLAGS = frozenset("".join(flags) for count in range(6) for flags in permutations("imsxg", count))

REGEX_FUNCTIONS = (
    Function(
        "regexp_like",
        "regex",
        "regexp_like(text, regex [, flags])",
        "Whether the expression matches somewhere in the text; NULL when an argument is.",
        takes(TEXT, TEXT, TEXT, result=BOOLEAN, optional=1),
        constants={2: one_of(FLAGS)},
    ),
    Function(
        "regexp_replace",
        "regex",
        "regexp_replace(text, regex, replacement [, flags])",
        "The text with its first match replaced, or all with flag g; NULL when an argument is.",
        takes(TEXT, TEXT, TEXT, TEXT, result=TEXT, optional=1),
        constants={3: one_of(FLAGS)},
    ),
    Function(
        "regexp_match",
        "regex",
        "regexp_match(text, regex [, flags])",
        "What the groups of the constant expression took in the first match, or the match; NULL without a match.",
        takes(TEXT, TEXT, TEXT, result=Array(TEXT), optional=1),
        nullable=always,
        constants={1: any_value, 2: one_of(FLAGS)},
    ),
)
