"""Text to statements, with positions that a reader can find again.

    CREATE TABLE s (...) WITH (...);
    SELECT form s;
    INSERT INTO t SELECT * FROM s

gives three statements, of which the second has no node and a complaint at 2:8. Each piece between semicolons is parsed
by itself, so that one that cannot be read does not hide what is wrong with the others; and where a CREATE cannot be
read, its name is known all the same, so that nobody complains of a table that is missing.

The tree keeps offsets (`positions.py`), not lines, so a piece is parsed with the text of the whole script.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from sqlglot import exp
from sqlglot.errors import ErrorLevel, ParseError
from sqlglot.tokenizer_core import Token

from engine.errors import (
    EmptyScriptError,
    EngineError,
    ScriptRefused,
    SyntaxRefusedError,
    TextPosition,
    TooLargeError,
)
from engine.sql.text.dialect import Arroyo
from engine.sql.text.pieces import (
    NOT_OUR_SQL,
    SIMPLER,
    check_piece,
    declared_name,
    misplaced_hints,
    pieces_of,
    tokens_of,
)
from engine.sql.text.positions import position_at, start_around, start_of

_BYTE_ORDER_MARK = "\ufeff"
MAX_BYTES = 1024 * 1024
MAX_DEPTH = 150
"""Deeper trees would end Python's own stack in the parser, in our translation or in the printing for Spark."""
MAX_STATEMENTS = 1000
MAX_WORDS = 50_000

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement and where it begins. `node` is None when it cannot be read; `declares` is the name that a CREATE
    gives, as far as one can tell."""

    node: exp.Expr | None
    at: TextPosition
    declares: str | None


@dataclass(frozen=True, slots=True)
class Script:
    """A parsed script: its statements, what could not be read, and where the lines and words of its text begin."""

    text: str
    statements: tuple[Statement, ...]
    complaints: tuple[EngineError, ...]
    line_starts: tuple[int, ...]
    words: tuple[tuple[int, str], ...]

    def position(self, node: exp.Expr | None) -> TextPosition | None:
        """Return the position at which a node begins: its own, or that of its first part."""
        start = None if node is None else start_of(node)
        return None if start is None else position_at(self.line_starts, start)

    def position_of_word(self, word: str, node: exp.Expr, inside: object = None) -> TextPosition | None:
        """Return the position of a keyword of `node`: the last one before the part `inside`, else the first one in
        `node`."""
        start = start_around(node)
        end = start_of(inside) if isinstance(inside, exp.Expr) else None
        if end is not None:
            before = [offset for offset, text in self.words if start <= offset < end and text == word]
            return position_at(self.line_starts, before[-1] if before else end)
        first = next((offset for offset, text in self.words if offset >= start and text == word), start)
        return position_at(self.line_starts, first)


def parse(text: str) -> Script:
    """The statements of a script, in order. Raises ScriptRefused when there is no statement at all."""
    if len(text.encode(errors="surrogatepass")) > MAX_BYTES:
        raise ScriptRefused([TooLargeError("the script is longer than 1 MiB", hint="split it into several pipelines")])
    if text.startswith(_BYTE_ORDER_MARK):  # some editors begin every file with it
        text = f" {text[1:]}"
    line_starts = tuple(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))[:-1]
    tokens = tokens_of(text, line_starts)
    pieces = list(pieces_of(tokens))
    if not pieces:
        raise ScriptRefused([EmptyScriptError("the script is empty", hint="write at least one INSERT or SELECT")])
    if len(pieces) > MAX_STATEMENTS or len(tokens) > MAX_WORDS:
        message = f"the script has more than {MAX_STATEMENTS} statements or {MAX_WORDS} words"
        raise ScriptRefused([TooLargeError(message, hint="split it into several pipelines")])
    complaints: list[EngineError] = list(misplaced_hints(tokens, text, line_starts))
    statements = [_statement(piece, text, line_starts, complaints) for piece in pieces]
    # One token may be two words, such as `ORDER BY`; it is found by the first.
    words = tuple((token.start, token.text.upper().split(" ", 1)[0]) for token in tokens)
    return Script(text, tuple(statements), tuple(complaints), line_starts, words)


def _statement(piece: list[Token], text: str, line_starts: Sequence[int], complaints: list[EngineError]) -> Statement:
    """The statement of a piece; what is wrong with it is added to the complaints."""
    begin, declares = position_at(line_starts, piece[0].start), declared_name(piece)
    try:
        check_piece(piece, line_starts)
        node = _parse(piece, text)
        if _depth(node) > MAX_DEPTH:
            raise TooLargeError("the statement is nested too deeply", hint=SIMPLER)
    except ParseError as error:
        complaints.append(_syntax_error(error.errors[0], line_starts))
    except RecursionError:
        complaints.append(TooLargeError("the statement is nested too deeply", hint=SIMPLER, at=begin))
    except EngineError as error:
        error.at = error.at or begin
        complaints.append(error)
    else:
        return Statement(node, begin, declares)
    return Statement(None, begin, declares)


def _parse(piece: list[Token], text: str) -> exp.Expr:
    try:
        nodes = Arroyo().parser(error_level=ErrorLevel.IMMEDIATE).parse(piece, text)
    except (AttributeError, TypeError, ValueError, KeyError, IndexError, AssertionError) as error:
        # The parser stumbles over some texts instead of refusing them.
        raise SyntaxRefusedError("this statement cannot be read", hint=NOT_OUR_SQL) from error
    if len(nodes) != 1 or nodes[0] is None:
        raise SyntaxRefusedError("this statement cannot be read", hint=NOT_OUR_SQL)
    return nodes[0]


def _syntax_error(error: dict[str, object], line_starts: Sequence[int]) -> SyntaxRefusedError:
    start, near = error.get("start"), str(error.get("highlight") or "")
    at = position_at(line_starts, start) if isinstance(start, int) else None
    if not near:
        return SyntaxRefusedError("the statement ends too early", hint=NOT_OUR_SQL, at=at)
    expected = re.match(r"Expecting (\S+)", str(error.get("description")).split("\n", 1)[0].rstrip("."))
    shown = near if len(near) <= 40 else near[:37] + "..."
    message = f"{expected[1]} was expected, not {shown!r}" if expected else f"unexpected {shown!r}"
    return SyntaxRefusedError(message, hint=NOT_OUR_SQL, at=at)


def _depth(node: exp.Expr) -> int:
    deepest, todo = 0, [(node, 1)]
    while todo:
        part, depth = todo.pop()
        deepest = max(deepest, depth)
        for child in part.iter_expressions():
            # A chain of AND or OR is a tower in the tree, and one call for us.
            chained = isinstance(part, exp.And | exp.Or) and type(child) is type(part)
            todo.append((child, depth if chained else depth + 1))
    return deepest
