"""Declaration of a run setting: once, as a field of a dataclass.

    linger: timedelta = setting("The pause between epochs", LINGER, DEFAULT_LINGER)

The field's metadata has the description and the kind of its value: how a user's text is read and checked, and how a
value is written again. Reading, help, completion and the reference pages are derived from that
(`engine/values/run_settings.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, Generic, TypeVar

T = TypeVar("T")
_KEY = "setting"
_BYTES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_AMOUNT = re.compile(r"([0-9]{1,15})([kmgt]?)")
_LEAST_MEGABYTES = 480
"""Spark does not start with less than 450 that it can use, and a part of what is given is held back."""


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """A kind of value. `read` raises ValueError with the rest of a sentence: "must be on or off"."""

    accepts: str
    """What a user may write."""
    read: Callable[[str], T]
    write: Callable[[T], str] = str


@dataclass(frozen=True, slots=True)
class Setting:
    """The declaration of a setting."""

    name: str
    about: str
    kind: Kind[Any]
    default: str
    """The default for people."""
    run_flag: str | None = None
    """What `arroyo run` has instead of `--set` for it."""
    is_of_cluster: bool = False
    """Whether only a run on a cluster heeds it."""


@dataclass(frozen=True, slots=True)
class _Declared:
    """The metadata of a field."""

    about: str
    kind: Kind[Any]
    name: str | None
    default: str | None
    run_flag: str | None
    is_of_cluster: bool


def setting(
    about: str,
    kind: Kind[T],
    default: T,
    *,
    name: str | None = None,
    shown_default: str | None = None,
    run_flag: str | None = None,
    is_of_cluster: bool = False,
) -> T:
    """Declare a setting as a field. Users write `name`, which is that of the field by default."""
    metadata = {_KEY: _Declared(about, kind, name, shown_default, run_flag, is_of_cluster)}
    if isinstance(default, Mapping):
        made: T = field(default_factory=lambda: default, metadata=metadata)
        return made
    return field(default=default, metadata=metadata)


def setting_of(declared: Field[Any]) -> Setting | None:
    """Return the setting that a field declares; None if it declares none."""
    told: _Declared | None = declared.metadata.get(_KEY)
    if told is None:
        return None
    shown = told.default
    if shown is None:
        shown = "none" if declared.default is None else told.kind.write(declared.default)
    return Setting(told.name or declared.name, told.about, told.kind, shown, told.run_flag, told.is_of_cluster)


def settings_of(kind: type) -> Mapping[str, Setting]:
    """Return the settings that the fields of a dataclass declare, by the names of the fields."""
    found = ((each.name, setting_of(each)) for each in fields(kind))
    return {name: declared for name, declared in found if declared is not None}


def _choice(words: Mapping[str, T]) -> Kind[T]:
    accepts = " or ".join(words)

    def read(text: str) -> T:
        if text.lower() not in words:
            raise ValueError(f"must be {accepts}")
        return words[text.lower()]

    return Kind(accepts, read, lambda value: next(word for word, meaning in words.items() if meaning == value))


ON_OR_OFF: Kind[bool] = _choice({"on": True, "off": False})
MAYBE_ON: Kind[bool | None] = _choice({"on": True, "off": False})
TRUE_OR_FALSE: Kind[bool] = _choice({"true": True, "false": False})
OWN_OR_SHARED: Kind[bool] = _choice({"own": False, "shared": True})


def bytes_of_memory(text: str) -> int:
    """Return the bytes of an amount of memory such as 4g, which was found to be one."""
    amount = _AMOUNT.fullmatch(text.lower())
    assert amount is not None, text
    return int(amount[1]) * _BYTES[amount[2]]


def _memory(text: str) -> str:
    if _AMOUNT.fullmatch(text.lower()) is None:
        raise ValueError("must be a whole number and a unit, such as 512m or 4g")
    if bytes_of_memory(text) < _LEAST_MEGABYTES * 2**20:
        raise ValueError(f"must be at least {_LEAST_MEGABYTES}m, which Spark needs to start")
    return text


MEMORY: Kind[str] = Kind("an amount such as 512m or 4g", _memory)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 18 and int(text) > 0):
        raise ValueError("must be a whole number greater than zero")
    return int(text)


COUNT: Kind[int | None] = Kind("a whole number", _count)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= 65535):
        raise ValueError("must be a port from 1 to 65535, or 0 for a free one")
    return int(text)


PORT: Kind[int] = Kind("a port, or 0 for a free one", _port)
