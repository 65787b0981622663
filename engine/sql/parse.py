"""Text to statements, with places that a reader can find again."""

from __future__ import annotations

import logging
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from engine.errors import (
    EmptyScriptError,
    Place,
    ScriptRefused,
    SyntaxRefusedError,
    TooLargeError,
)
from engine.sql.dialect import Arroyo

MAX_BYTES = 1024 * 1024
MAX_NESTING = 200
MAX_DEPTH = 150

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class Script:
    """A parsed script: its statements, and where the lines of its text begin."""

    text: str
    statements: tuple[exp.Expr, ...]
    line_starts: tuple[int, ...]

    def place(self, node: exp.Expr | None) -> Place | None:
        """Where a node begins: its own position, else that of what stands first inside it."""
        start = None if node is None else _start_of(node)
        return None if start is None else self.place_at(start)

    def place_at(self, offset: int) -> Place:
        """The line and column of a character."""
        line = bisect_right(self.line_starts, offset)
        return Place(line, offset - self.line_starts[line - 1] + 1)


def parse(text: str) -> Script:
    """The statements of a script, in order. Raises ScriptRefused when the text is not our SQL."""
    starts = tuple(accumulate((len(line) for line in text.splitlines(keepends=True)), initial=0))
    _check_size(text)
    try:
        statements = sqlglot.parse(text, read=Arroyo)
    except ParseError as error:
        raise ScriptRefused([_syntax(one, text) for one in error.errors]) from None
    except TokenError as error:
        raise ScriptRefused([SyntaxRefusedError(_first_line(str(error)), hint=_QUOTES)]) from None
    except RecursionError:
        raise ScriptRefused([TooLargeError("the script is nested too deeply", hint=_SIMPLER)]) from None
    found = tuple(one for one in statements if one is not None and not isinstance(one, exp.Semicolon))
    if not found:
        raise ScriptRefused([EmptyScriptError("Query is empty!", hint="write at least one INSERT or SELECT")])
    if any(_depth(one) > MAX_DEPTH for one in found):
        raise ScriptRefused([TooLargeError("the script is nested too deeply", hint=_SIMPLER)])
    return Script(text, found, starts)


_QUOTES = "look for a quote or a comment that is not closed"
_SIMPLER = f"at most {MAX_DEPTH} levels are read; name parts of the query with CREATE VIEW"


def _check_size(text: str) -> None:
    if len(text.encode()) > MAX_BYTES:
        raise ScriptRefused([TooLargeError("the script is longer than 1 MiB", hint="split it into several pipelines")])
    deepest = depth = 0
    for letter in text:
        if letter in "([":
            depth += 1
            deepest = max(deepest, depth)
        elif letter in ")]":
            depth -= 1
    if deepest > MAX_NESTING:
        raise ScriptRefused([TooLargeError("the script is nested too deeply", hint=_SIMPLER)])


def _syntax(error: dict[str, object], text: str) -> SyntaxRefusedError:
    line, column = error.get("line"), error.get("col")
    highlight = str(error.get("highlight") or "")
    at = None
    if isinstance(line, int) and isinstance(column, int):
        at = Place(line, max(1, column - max(0, len(highlight) - 1)))
    near = f" near {highlight!r}" if highlight else ""
    return SyntaxRefusedError(f"{_first_line(str(error.get('description')))}{near}", hint=_HINT, at=at)


_HINT = "this is not SQL that a pipeline can hold; look at what stands just before this place"


def _first_line(text: str) -> str:
    return text.split("\n", 1)[0].rstrip(".")


def _start_of(node: exp.Expr) -> int | None:
    starts = [int(part.meta["start"]) for part in node.walk() if "start" in part.meta]
    return min(starts) if starts else None


def _depth(node: exp.Expr) -> int:
    deepest, todo = 0, [(node, 1)]
    while todo:
        part, depth = todo.pop()
        deepest = max(deepest, depth)
        todo.extend((child, depth + 1) for child in part.iter_expressions())
    return deepest
