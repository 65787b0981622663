"""Functions of text; positions count characters, from one."""

from __future__ import annotations

from engine.functions.base import Function, Resolve, takes
from engine.types import TEXT


def _text(name: str, usage: str, doc: str, resolve: Resolve, *aliases: str) -> Function:
    return Function(name, "text", usage, doc, resolve, aliases)


TEXT_FUNCTIONS = (
    _text("upper", "upper(text)", "The text in capitals; NULL for NULL.", takes(TEXT, result=TEXT)),
    _text("lower", "lower(text)", "The text in small letters; NULL for NULL.", takes(TEXT, result=TEXT)),
)
