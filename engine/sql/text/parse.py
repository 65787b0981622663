"""Text to statements, with places that a reader can find again.

The text is cut at its semicolons, and every piece is parsed by itself: one that cannot be read does not hide what is
wrong with the others.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import accumulate

from sqlglot import exp
from sqlglot.errors import ErrorLevel, ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from engine.errors import (
    EmptyScriptError,
    EngineError,
    ScriptRefused,
    SyntaxRefusedError,
    TextPosition,
    TooLargeError,
    UnsupportedStatementError,
)
from engine.sql.text.dialect import Arroyo

MAX_BYTES = 1024 * 1024
MAX_NESTING = 100
MAX_DEPTH = 150
MAX_STATEMENTS = 1000
MAX_WORDS = 50_000

STATEMENTS = "a pipeline holds CREATE CONNECTION, CREATE TABLE, CREATE VIEW, INSERT INTO ... SELECT, SELECT and SET"

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
    """A parsed script: its statements, what could not be read, and where the lines of its text begin."""

    text: str
    statements: tuple[Statement, ...]
    complaints: tuple[EngineError, ...]
    line_starts: tuple[int, ...]
    words: tuple[tuple[int, str], ...]

    def position(self, node: exp.Expr | None) -> TextPosition | None:
        """Where a node begins: its own position, else that of what stands first inside it."""
        start = None if node is None else _start_of(node)
        return None if start is None else _position_at(self.line_starts, start)

    def position_of_word(self, word: str, node: exp.Expr, inside: object = None) -> TextPosition | None:
        """Where a keyword of `node` stands: the last one before the part `inside`, else the first one in `node`."""
        start = next((at for one in _upwards(node) if (at := _start_of(one)) is not None), 0)
        end = _start_of(inside) if isinstance(inside, exp.Expr) else None
        if end is not None:
            before = [at for at, text in self.words if start <= at < end and text == word]
            return _position_at(self.line_starts, before[-1] if before else end)
        found = next((at for at, text in self.words if at >= start and text == word), start)
        return _position_at(self.line_starts, found)


def parse(text: str) -> Script:
    """The statements of a script, in order. Raises ScriptRefused when there is none to be found."""
    if len(text.encode(errors="surrogatepass")) > MAX_BYTES:
        raise ScriptRefused([TooLargeError("the script is longer than 1 MiB", hint="split it into several pipelines")])
    lines = tuple(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))[:-1]
    tokens = _tokens(text, lines)
    pieces = list(_pieces(tokens))
    if not pieces:
        raise ScriptRefused([EmptyScriptError("Query is empty!", hint="write at least one INSERT or SELECT")])
    if len(pieces) > MAX_STATEMENTS or len(tokens) > MAX_WORDS:
        message = f"more than {MAX_STATEMENTS} statements or {MAX_WORDS} words"
        raise ScriptRefused([TooLargeError(message, hint="write several pipelines")])
    complaints: list[EngineError] = []
    statements = [_statement(piece, text, lines, complaints) for piece in pieces]
    # the parser's words may be two, such as `ORDER BY`
    words = tuple((token.start, token.text.upper().split(" ", 1)[0]) for token in tokens)
    return Script(text, tuple(statements), tuple(complaints), lines, words)


_QUOTES = "look for a quote or a comment that is not closed"
_SIMPLER = "name parts of the query with CREATE VIEW"
_HINT = "this is not SQL that a pipeline can hold; look at what stands just before this place"
_DOUBLE = 'names are quoted with double quotes: "name"'


def _tokens(text: str, lines: Sequence[int]) -> list[Token]:
    try:
        tokens: list[Token] = Arroyo().tokenize(text)
    except TokenError as error:
        said = str(error.__cause__)
        found = re.search(r"from \d+:(\d+)", said)
        what = re.match(r"Missing (\S+)", said)
        message = f"{what[1]} is not closed" if what else "a number is not one" if found else "a comment is not closed"
        comment = text.rfind("/*")
        start = min(int(found[1]), len(text)) if found else max(comment, 0)
        at = _position_at(lines, start)
        raise ScriptRefused([SyntaxRefusedError(message, hint=_QUOTES, at=at)]) from None
    return tokens


def _pieces(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    piece: list[Token] = []
    for token in tokens:
        if token.token_type != TokenType.SEMICOLON:
            piece.append(token)
        elif piece:
            yield piece
            piece = []
    if piece:
        yield piece


def _statement(piece: list[Token], text: str, lines: Sequence[int], complaints: list[EngineError]) -> Statement:
    """The statement of a piece; what is wrong with it is added to the complaints."""
    begin, declares = _position_at(lines, piece[0].start), _declared(piece)
    try:
        _check_words(piece, lines)
        node = _parse(piece, text)
        if _depth(node) > MAX_DEPTH:
            raise TooLargeError("the statement is nested too deeply", hint=_SIMPLER)
    except ParseError as error:
        complaints.append(_syntax(error.errors[0], lines))
    except RecursionError:
        complaints.append(TooLargeError("the statement is nested too deeply", hint=_SIMPLER, at=begin))
    except EngineError as error:
        error.at = error.at or begin
        complaints.append(error)
    else:
        return Statement(node, begin, declares)
    return Statement(None, begin, declares)


def _parse(piece: list[Token], text: str) -> exp.Expr:
    try:
        found = Arroyo().parser(error_level=ErrorLevel.IMMEDIATE).parse(piece, text)
    except (AttributeError, TypeError, ValueError, KeyError, IndexError, AssertionError) as error:
        # the parser stumbles over some texts instead of refusing them
        raise SyntaxRefusedError("this statement cannot be read", hint=_HINT) from error
    if len(found) != 1 or found[0] is None:
        raise SyntaxRefusedError("this statement cannot be read", hint=_HINT)
    return found[0]


def _check_words(piece: Sequence[Token], lines: Sequence[int]) -> None:
    """Refuse, before anything is parsed, what does not begin as one of our statements or is nested too deeply."""
    first = piece[0]
    word = first.text.upper()
    if first.token_type == TokenType.STRING or word not in ("CREATE", "INSERT", "SELECT", "WITH", "SET", "("):
        raise _not_ours(piece)
    kind = next((one.text.upper() for one in piece[1:3] if one.text.upper() not in ("TEMPORARY", "TEMP")), "")
    if word == "CREATE" and kind not in ("CONNECTION", "TABLE", "VIEW", "OR"):
        raise UnsupportedStatementError(f"Unsupported statement: CREATE {kind}".rstrip(), hint=STATEMENTS)
    depth = 0
    for token, after in zip(piece, [*piece[1:], None], strict=True):
        at = _position_at(lines, token.start)
        if token.token_type in _FOREIGN and not token.text.isalpha():
            raise SyntaxRefusedError(
                f"{token.text!r} cannot stand here", hint=_DOUBLE if token.text == "`" else _HINT, at=at
            )
        if token.token_type == TokenType.COMMA and (after is None or after.token_type in _NO_ITEM):
            raise SyntaxRefusedError("nothing stands behind this comma", hint=_HINT, at=at)
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if depth > MAX_NESTING:
            raise TooLargeError("the statement is nested too deeply", hint=_SIMPLER, at=at)


_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
_FOREIGN = (TokenType.UNKNOWN, TokenType.PIPE_GT)
_NO_ITEM = (*_CLOSING, TokenType.COMMA, TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING)


def _not_ours(piece: Sequence[Token]) -> UnsupportedStatementError:
    word = piece[0].text.upper()
    if word in ("EXPLAIN", "ANALYZE", "COPY", "DESCRIBE"):
        return UnsupportedStatementError(f"{word} is not supported", hint=STATEMENTS)
    begin = " ".join(token.text for token in piece[:2])
    near = get_close_matches(word, ("CREATE", "INSERT", "SELECT", "WITH"), n=1, cutoff=0.75)
    hint = f"did you mean {near[0]}?" if near else STATEMENTS
    return UnsupportedStatementError(f"Unsupported statement: {begin[:60]}", hint=hint)


def _declared(piece: Sequence[Token]) -> str | None:
    if piece[0].text.upper() != "CREATE":
        return None
    words = [token.text.upper() for token in piece[:7]]
    kind = next((index for index, word in enumerate(words) if word in ("TABLE", "VIEW")), None)
    if kind is None:
        return None
    rest = piece[kind + 1 :]
    if [token.text.upper() for token in rest[:3]] == ["IF", "NOT", "EXISTS"]:
        rest = rest[3:]
    return rest[0].text if rest else None


def _syntax(error: dict[str, object], lines: Sequence[int]) -> SyntaxRefusedError:
    start, near = error.get("start"), str(error.get("highlight") or "")
    at = _position_at(lines, start) if isinstance(start, int) else None
    said = str(error.get("description")).split("\n", 1)[0].rstrip(".")
    wanted = re.match(r"Expecting (\S+)", said)
    shown = near if len(near) <= 40 else near[:37] + "..."
    message = f"{wanted[1]} was expected, not {shown!r}" if wanted else f"unexpected {shown!r}"
    return SyntaxRefusedError(message if near else "the statement ends too early", hint=_HINT, at=at)


def _position_at(lines: Sequence[int], offset: int) -> TextPosition:
    line = bisect_right(lines, offset)
    return TextPosition(line, offset - lines[line - 1] + 1)


def _start_of(node: exp.Expr) -> int | None:
    starts = [int(part.meta["start"]) for part in node.walk() if "start" in part.meta]
    return min(starts) if starts else None


def _upwards(node: exp.Expr) -> Iterator[exp.Expr]:
    above: exp.Expr | None = node
    while above is not None:
        yield above
        above = above.parent


def _depth(node: exp.Expr) -> int:
    deepest, todo = 0, [(node, 1)]
    while todo:
        part, depth = todo.pop()
        deepest = max(deepest, depth)
        for child in part.iter_expressions():
            # chains of AND and OR are read as one
            chained = isinstance(part, exp.And | exp.Or) and type(child) is type(part)
            todo.append((child, depth if chained else depth + 1))
    return deepest
