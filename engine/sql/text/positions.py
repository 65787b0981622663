"""Where a node of the parser's tree stands in the script.

    line 2 of a script, from offset 20:   WHERE upper(name) = 1 AND n > 2

The parser notes the offset of the first character of an identifier, a call and a literal, and of nothing else; the
dialect adds it for whatever begins a unary expression, a query or a property. A node without one begins where the
first of its parts does: `upper(name) = 1` at 26, that is 2:7. A keyword has no node, so it is looked for among the
words: the AND before `n > 2` is the last AND before offset 46.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from sqlglot import exp

from engine.errors import TextPosition


def position_at(line_starts: Sequence[int], offset: int) -> TextPosition:
    """The line and column of an offset, both from one."""
    line = bisect_right(line_starts, offset)
    return TextPosition(line, offset - line_starts[line - 1] + 1)


def start_of(node: exp.Expr) -> int | None:
    """The offset where a node begins: the smallest that it or anything inside it has; None when nothing has one."""
    starts = [int(part.meta["start"]) for part in node.walk() if "start" in part.meta]
    return min(starts) if starts else None


def start_around(node: exp.Expr) -> int:
    """The offset where a node begins, or else the smallest one around it that has an offset."""
    return next((start for around in _outwards(node) if (start := start_of(around)) is not None), 0)


def _outwards(node: exp.Expr) -> Iterator[exp.Expr]:
    around: exp.Expr | None = node
    while around is not None:
        yield around
        around = around.parent
