"""Options and settings as rows of a table: name, value, default, description."""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from engine.docs.markdown import code, table
from engine.values.durations import spell_duration

_WORDS: dict[object, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    timedelta: "interval",
    Path: "path",
    SecretStr: "secret text",
}


def options_table(model: type[BaseModel], *, without: frozenset[str] = frozenset()) -> str:
    """The fields of a model as a table."""
    fields = {name: info for name, info in model.model_fields.items() if name not in without}
    return table(
        ["option", "value", "default", "what it does"],
        [_row(info.alias or name, info) for name, info in fields.items()],
    )


def _row(name: str, info: FieldInfo) -> Sequence[str]:
    return [
        code(name),
        spell_type(info.annotation),
        "**required**" if info.is_required() else spell_default(info.get_default(call_default_factory=True)),
        info.description or "",
    ]


def spell_type(annotation: Any) -> str:
    """Return the spelling of a field's type."""
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return spell_type(inside[0])
    if origin is Literal:
        return ", ".join(code(str(value)) for value in inside)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(spell_type(option) for option in inside if option is not type(None)))
    if origin in (tuple, list):
        return f"list of {spell_type(inside[0])}"
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return ", ".join(code(str(member.value)) for member in annotation)
    return _WORDS.get(annotation, getattr(annotation, "__name__", str(annotation)).lower())


def spell_default(value: object) -> str:
    """A default as a user would write it; nothing for none."""
    match value:
        case None | "" | ():
            return ""
        case bool():
            return code(str(value).lower())
        case timedelta():
            return code(spell_duration(value))
        case Enum():
            return code(str(value.value))
        case tuple() | list():
            return code(", ".join(map(str, value)))
    return code(str(value))


def walk_settings(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Every setting with its dotted name, sections opened."""
    for name, info in model.model_fields.items():
        kind = info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from walk_settings(kind, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", info
