"""Split a script's tokens at semicolons into statements, and check each before parsing.

    SELECT 1; DROP TABLE t; INSERT INTO a SELECT n, FROM b

    [SELECT 1]                      a statement
    [DROP TABLE t]                  refused: it does not begin like one of ours
    [INSERT INTO a SELECT n, FROM b]  refused: nothing follows the comma

These checks precede the parser, which accepts far more than we support, overflows on deep nesting, and ignores some
errors.

Find the position of a node of the parser's tree in the script.

    line 2 of a script, from offset 20:   WHERE upper(name) = 1 AND n > 2

The parser records the offset of the first character of identifiers, calls and literals only; the dialect adds it for
unary expressions, queries and properties. A node without one begins where the first of its parts does: `upper(name) =
1` at 26, that is 2:7. A keyword has no node, so it is searched among the words: the AND before `n > 2` is the last AND
before offset 46.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from sqlglot import exp
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from engine.errors import (
    HintError,
    ScriptRefused,
    SyntaxRefusedError,
    TextPosition,
    TooLargeError,
    UnsupportedClauseError,
    UnsupportedStatementError,
)
from engine.sql.text.dialect import Arroyo
from engine.values.near_names import nearest

MAX_NESTING = 100

STATEMENTS = "a pipeline holds CREATE CONNECTION, CREATE TABLE, CREATE VIEW, INSERT INTO ... SELECT, SELECT and SET"
NOT_OUR_SQL = "this is not SQL for a pipeline; look at what comes just before this position"
MISPLACED = "a hint cannot stand here"
BEHIND_SELECT = "put it right behind SELECT"
SIMPLER = "name parts of the query with CREATE VIEW"

_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
_FOREIGN = (TokenType.UNKNOWN, TokenType.PIPE_GT)
_NO_ITEM = (*_CLOSING, TokenType.COMMA, TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING)


def tokens_of(text: str, line_starts: Sequence[int]) -> list[Token]:
    """Return the tokens of a script. Raise ScriptRefused if a quote or a comment is not closed, or a number is
    invalid."""
    try:
        tokens: list[Token] = Arroyo().tokenize(text)
    except TokenError as error:
        # The text of the cause is all that the tokenizer says; of an open comment it says nothing.
        cause = str(error.__cause__)
        offset = re.search(r"from \d+:(\d+)", cause)
        quote = re.match(r"Missing (\S+)", cause)
        is_last = text.endswith(("'", '"')) and _can_be_cut(text[:-1])
        if quote or is_last:
            message = f"{quote[1] if quote else text[-1]} is not closed"
        else:
            message = "the number is not valid" if offset else "a comment is not closed"
        start = min(int(offset[1]), len(text)) if offset else len(text) - 1 if is_last else max(text.rfind("/*"), 0)
        hint = "look for a quote or a comment that is not closed"
        raise ScriptRefused([SyntaxRefusedError(message, hint=hint, at=position_at(line_starts, start))]) from None
    return tokens


def _can_be_cut(text: str) -> bool:
    try:
        Arroyo().tokenize(text)
    except TokenError:
        return False
    return True


def pieces_of(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield the tokens of each statement; empty ones are left out."""
    piece: list[Token] = []
    for token in tokens:
        if token.token_type != TokenType.SEMICOLON:
            piece.append(token)
        elif piece:
            yield piece
            piece = []
    if piece:
        yield piece


def check_piece(piece: Sequence[Token], line_starts: Sequence[int]) -> None:
    """Raise, before anything is parsed, if the text does not begin like one of our statements or is nested too
    deeply."""
    _check_beginning(piece)
    depth = 0
    for token, following in zip(piece, [*piece[1:], None], strict=True):
        at = position_at(line_starts, token.start)
        if token.token_type in _FOREIGN and not token.text.isalpha():
            hint = 'names are quoted with double quotes: "name"' if token.text == "`" else NOT_OUR_SQL
            raise SyntaxRefusedError(f"{token.text!r} is not allowed here", hint=hint, at=at)
        if following is not None and (words := (token.text.upper(), following.text.upper())) in _REFUSED_PAIRS:
            raise UnsupportedClauseError(f"{words[0]} is not supported", hint=_REFUSED_PAIRS[words], at=at)
        if piece[0].text.upper() == "SELECT" and token is piece[0] and following is not None:
            _check_top(piece, at)
        if token.token_type == TokenType.COMMA and (following is None or following.token_type in _NO_ITEM):
            raise SyntaxRefusedError("nothing follows this comma", hint=NOT_OUR_SQL, at=at)
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if depth > MAX_NESTING:
            raise TooLargeError("the statement is nested too deeply", hint=SIMPLER, at=at)


_REFUSED_PAIRS = {
    ("MATCH_RECOGNIZE", "("): "join the table with itself on the key and a range of time, once per step of the pattern",
    ("TABLESAMPLE", "("): "write WHERE random() < 0.1",
}


def _check_top(piece: Sequence[Token], at: TextPosition) -> None:
    if len(piece) > 2 and piece[1].text.upper() == "TOP" and piece[2].token_type == TokenType.NUMBER:
        raise UnsupportedClauseError("TOP is not supported", hint="write ORDER BY ... LIMIT at the end", at=at)


_COMMENT = re.compile(r"--[^\n]*|/\*(?P<hint>\+\s*\w+\s*\()?.*?\*/", re.DOTALL)


def misplaced_hints(tokens: Sequence[Token], text: str, line_starts: Sequence[int]) -> Iterator[HintError]:
    """Yield an error for each comment between two tokens that looks like a hint. After SELECT it would be a token."""
    ends = [0, *(token.end + 1 for token in tokens)]
    for end, start in zip(ends, [*(token.start for token in tokens), len(text)], strict=True):
        for comment in _COMMENT.finditer(text, end, start):
            if comment["hint"] is not None:
                at = position_at(line_starts, comment.start())
                yield HintError(MISPLACED, hint=BEHIND_SELECT, at=at)


def declared_name(piece: Sequence[Token]) -> str | None:
    """Return the name that a CREATE TABLE or CREATE VIEW declares, as far as that is possible without a parser."""
    if piece[0].text.upper() != "CREATE":
        return None
    words = [token.text.upper() for token in piece[:7]]
    kind = next((index for index, word in enumerate(words) if word in ("TABLE", "VIEW")), None)
    if kind is None:
        return None
    following = piece[kind + 1 :]
    if [token.text.upper() for token in following[:3]] == ["IF", "NOT", "EXISTS"]:
        following = following[3:]
    return following[0].text if following else None


def _check_beginning(piece: Sequence[Token]) -> None:
    word = piece[0].text.upper()
    if piece[0].token_type == TokenType.STRING or word not in ("CREATE", "INSERT", "SELECT", "WITH", "SET", "("):
        raise _unsupported(piece)
    words = (token.text.upper() for token in piece[1:3])
    kind = next((word for word in words if word not in ("TEMPORARY", "TEMP")), "")
    if word == "CREATE" and kind not in ("CONNECTION", "TABLE", "VIEW", "OR"):
        near = nearest(kind, ("CONNECTION", "TABLE", "VIEW"))
        hint = _INSTEAD_OF_CREATE.get(kind) or (f"did you mean CREATE {near}?" if near else STATEMENTS)
        raise UnsupportedStatementError(f"{f'CREATE {kind}'.rstrip()} is not supported", hint=hint)


_INSTEAD = {
    "ALTER": "change the script, and deploy it under the same name",
    "ANALYZE": "leave it out; there are no statistics of tables",
    "BEGIN": "leave it out; all of a script is one pipeline",
    "DELETE": "write INSERT INTO ... SELECT with the opposite condition in WHERE",
    "DESC": "deploy the script; the web UI and `arroyo check` show columns",
    "DESCRIBE": "deploy the script; the web UI and `arroyo check` show columns",
    "DROP": "leave the table out of the script; `arroyo delete` removes a pipeline",
    "EXECUTE": "leave it out; all of a script is one pipeline, and runs as a whole",
    "EXPLAIN": "leave it out, and run `arroyo explain` on the script",
    "MERGE": "aggregate by the key without a window, and write to a sink that takes changes",
    "SHOW": "the API and the web UI list pipelines and connectors",
    "TRUNCATE": "leave it out; a sink is never emptied",
    "UPDATE": "compute the new value in a SELECT",
    "USE": "leave it out; a script declares its tables itself",
    "VALUES": "write SELECT ... FROM a table; rows of constants can only be joined",
}
_INSTEAD_OF_CREATE = {
    "CATALOG": "leave it out; a script declares its tables itself, and CREATE CONNECTION holds what they share",
    "DATABASE": "leave it out; a script declares its tables itself",
    "FUNCTION": "write the function in Python, and deploy the file with the script",
    "INDEX": "leave it out; state is stored by key",
    "MATERIALIZED": "write INSERT INTO a sink SELECT ..., or CREATE VIEW to name a part of the query",
    "SCHEMA": "leave it out; a script declares its tables itself",
    "SINK": "write CREATE TABLE ... WITH (type = 'sink', ...), and INSERT INTO it",
    "SOURCE": "write CREATE TABLE ... WITH (type = 'source', ...)",
    "STREAM": "write CREATE TABLE ... WITH (type = 'source', ...), or CREATE VIEW for a query",
    "TYPE": "write the members of the struct in the column: place STRUCT<x DOUBLE, y DOUBLE>",
}


def _unsupported(piece: Sequence[Token]) -> UnsupportedStatementError:
    word = piece[0].text
    near = nearest(word, ("CREATE", "INSERT", "SELECT", "WITH", "SET"))
    hint = _INSTEAD.get(word.upper()) or (f"did you mean {near}?" if near else STATEMENTS)
    shown = repr(word[:40]) if piece[0].token_type == TokenType.STRING else word[:40]
    return UnsupportedStatementError(f"a statement cannot begin with {shown}", hint=hint)


def position_at(line_starts: Sequence[int], offset: int) -> TextPosition:
    """Return the line and column of an offset, both counted from one."""
    line = bisect_right(line_starts, offset)
    return TextPosition(line, offset - line_starts[line - 1] + 1)


def start_of(node: exp.Expr) -> int | None:
    """Return the offset where a node begins: the smallest offset of the node and everything inside it; None if nothing
    has one."""
    starts = [int(part.meta["start"]) for part in node.walk() if "start" in part.meta]
    return min(starts) if starts else None


def start_around(node: exp.Expr) -> int:
    """Return the offset where a node begins, or else the smallest one around it that has an offset."""
    return next((start for around in _outwards(node) if (start := start_of(around)) is not None), 0)


def _outwards(node: exp.Expr) -> Iterator[exp.Expr]:
    around: exp.Expr | None = node
    while around is not None:
        yield around
        around = around.parent
