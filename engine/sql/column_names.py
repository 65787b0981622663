"""Which names a script may give to columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import count

from engine.errors import DuplicateNameError, EngineError, TableColumnError, UnusableNameError

_RESERVED = re.compile(r"__.*|_timestamp|_heartbeat|_wm|_window|_none|_key\d+", re.IGNORECASE | re.DOTALL)


def usable(name: str) -> str:
    """The name; refused when the engine needs it, or when Spark could not keep it."""
    if not name:
        raise UnusableNameError("a column needs a name", hint="name it with AS")
    if _RESERVED.fullmatch(name):
        raise TableColumnError(f"column name {name!r} is reserved for the engine", hint="use another name")
    return _keepable(name)


def usable_list(names: Sequence[str]) -> list[str]:
    """The names of all columns of a relation; refused when two of them are the same."""
    return _distinct([usable(name) for name in names], "column")


def usable_members(names: Sequence[str]) -> list[str]:
    """The names of all members of a struct; refused when two of them are the same."""
    return _distinct([_keepable(name) for name in names], "member")


def numbered(prefix: str, used_names: Iterable[str]) -> str:
    """The prefix with the first number that no name begins with."""
    names = [name.lower() for name in used_names]
    candidates = (f"{prefix}{number}" for number in count())
    return next(candidate for candidate in candidates if not any(name.startswith(candidate) for name in names))


def twice(name: str, kind: str = "column") -> EngineError:
    """A second column of the same name."""
    return DuplicateNameError(
        f"{kind} {name!r} is declared twice", hint="upper and lower case are the same; use another name"
    )


def count_columns(count: int) -> str:
    """A number of columns, in words."""
    return f"{count} column{'' if count == 1 else 's'}"


def _distinct(names: list[str], kind: str) -> list[str]:
    earlier: set[str] = set()
    for name in names:
        if name.lower() in earlier:
            raise twice(name, kind)
        earlier.add(name.lower())
    return names


def _keepable(name: str) -> str:
    if "${" in name or "\0" in name:
        raise UnusableNameError(f"{name!r} is not a valid column name", hint="leave out '${', or use an alias")
    return name
