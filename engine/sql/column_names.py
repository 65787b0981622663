"""Which names a script may give to columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import count

from engine.errors import DuplicateNameError, EngineError, TableColumnError, UnusableNameError

_OURS = re.compile(r"__.*|_timestamp|_heartbeat|_wm|_window|_none|_key\d+", re.IGNORECASE | re.DOTALL)


def usable(name: str) -> str:
    """The name; refused when the engine needs it, or when Spark could not keep it."""
    if not name:
        raise UnusableNameError("a column needs a name", hint="write AS and a name")
    if _OURS.fullmatch(name):
        raise TableColumnError(f"column name {name!r} is taken by the engine", hint="use another name")
    return _keepable(name)


def usable_list(names: Sequence[str]) -> list[str]:
    """The names of all columns of a relation; refused when two of them are the same."""
    return _distinct([usable(name) for name in names], "column")


def usable_members(names: Sequence[str]) -> list[str]:
    """The names of all members of a struct; refused when two of them are the same."""
    return _distinct([_keepable(name) for name in names], "member")


def numbered(prefix: str, taken: Iterable[str]) -> str:
    """The prefix with a number that begins none of the names yet."""
    names = [name.lower() for name in taken]
    return next(one for one in (f"{prefix}{number}" for number in count()) if not any(n.startswith(one) for n in names))


def twice(name: str, what: str = "column") -> EngineError:
    """A second column of the same name."""
    return DuplicateNameError(
        f"{what} {name!r} is declared twice", hint="upper and lower case are not told apart; use another name"
    )


def count_columns(count: int) -> str:
    """So many columns, in words."""
    return f"{count} column{'' if count == 1 else 's'}"


def _distinct(names: list[str], what: str) -> list[str]:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise twice(name, what)
        seen.add(name.lower())
    return names


def _keepable(name: str) -> str:
    if "${" in name or "\0" in name:
        raise UnusableNameError(f"{name!r} cannot be the name of a column", hint="leave out '${', or use an alias")
    return name
