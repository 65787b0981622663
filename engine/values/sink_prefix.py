"""Prefix of redirected sinks: `SET sink_prefix = 'january'`.

    a file /out/orders.json       goes to /out/january/orders.json
    a topic orders                is january-orders

Each connector declares its rule (`redirect` in `engine/connectors/base.py`). It is a statement of the script, so that
everything that has the script knows its targets: a state, a savepoint, another control plane.
"""

from __future__ import annotations

import re

from engine.errors import SinkPrefixError

SETTING = "sink_prefix"
SINKS = "sinks"
"""Setting that replaces all sinks by previews: `SET sinks = 'preview'`."""
SHOWN = "preview"
_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SET_AT_THE_END = re.compile(rf"\n;\nSET {SETTING} = '{_PREFIX.pattern}';\n\Z")


def check_prefix(prefix: str) -> str:
    """Return the prefix, if it can be one: it becomes the name of a folder, and a part of the name of a topic."""
    if not _PREFIX.fullmatch(prefix):
        raise SinkPrefixError(
            f"{prefix!r} is no prefix for what a script writes",
            hint="it has up to 64 letters, digits, dots, dashes and underscores, and begins with a letter or a digit",
        )
    return prefix


def writing_under(script: str, prefix: str | None) -> str:
    """Return the script, with the statement that has it write under a prefix. It comes last, so that complaints about
    the script still name its own lines."""
    return script if prefix is None else f"{script}\n;\nSET {SETTING} = '{check_prefix(prefix)}';\n"


def only_shown(script: str) -> str:
    """Return the script, with the statement that has each of its sinks show its rows, and write none. It comes last,
    as that of a prefix does."""
    return f"{script}\n;\nSET {SINKS} = '{SHOWN}';\n"


def without_prefix(script: str) -> str | None:
    """Return the script as it was before `writing_under`; None where that has not made it what it is."""
    match = _SET_AT_THE_END.search(script)
    return None if match is None else script[: match.start()]
