"""Options and settings as rows of a table: name, value, default, description."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

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
    """Return the fields of a model as a table."""
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
    """Return a default as a user would write it; nothing for none."""
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
    """Yield every setting with its dotted name, sections opened."""
    for name, info in model.model_fields.items():
        kind = info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from walk_settings(kind, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", info


def page(title: str, introduction: str, sections: Iterable[str]) -> str:
    """Return a whole page; it says that it is not to be edited."""
    note = "<!-- Written by `make docs` from the declarations in the code. Do not edit. -->"
    return "\n\n".join([note, f"# {title}", introduction, *(section.strip() for section in sections)]) + "\n"


def section(title: str, *paragraphs: str) -> str:
    """Return a section with its heading; empty paragraphs are left out."""
    return "\n\n".join([f"## {title}", *(text for text in paragraphs if text)])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; without rows it is empty text."""
    body = [f"| {' | '.join(map(_cell, row))} |" for row in rows]
    if not body:
        return ""
    return "\n".join([f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *body])


def code(text: str) -> str:
    """Return text as it is typed."""
    return f"`{text}`" if text else ""


def sentence(docstring: str | None) -> str:
    """Return a docstring on one line."""
    return " ".join((docstring or "").split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
