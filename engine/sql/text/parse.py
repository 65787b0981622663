"""Parse text to statements, with positions.

    CREATE TABLE s (...) WITH (...);
    SELECT form s;
    INSERT INTO t SELECT * FROM s

gives three statements. The second has no node, and an error at 2:8. Each piece between semicolons is parsed
separately, so that one error does not hide others. If a CREATE cannot be parsed, its name is known all the same, so
that no missing table is reported.

The tree has offsets (`pieces.py`), not lines, so a piece is parsed with the text of the whole script.

Allowed clauses of each statement. Other clauses that the parser accepts are refused, never ignored.

    SELECT n FROM s TABLESAMPLE (10) ORDER BY n SORT BY n

The parser stores each clause in `args` of its node: `sample` of the Table and `sort` of the Select are in no list
below, so both are refused, each at its first word.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
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
    UnsupportedClauseError,
)
from engine.sql.text.dialect import Arroyo
from engine.sql.text.pieces import (
    NOT_OUR_SQL,
    SIMPLER,
    check_piece,
    declared_name,
    misplaced_hints,
    pieces_of,
    position_at,
    start_around,
    start_of,
    tokens_of,
)

_SUPPORTED: dict[type[exp.Expr], frozenset[str]] = {
    exp.Select: frozenset(
        {
            "with_",
            "hint",
            "expressions",
            "distinct",
            "from_",
            "where",
            "group",
            "having",
            "joins",
            "order",
            "limit",
            "offset",
        }
    ),
    exp.Distinct: frozenset({"expressions", "on"}),
    exp.Union: frozenset({"with_", "this", "expression", "distinct"}),
    exp.Except: frozenset({"with_", "this", "expression", "distinct"}),
    exp.Intersect: frozenset({"with_", "this", "expression", "distinct"}),
    exp.Subquery: frozenset({"with_", "this", "alias"}),
    exp.With: frozenset({"expressions", "recursive"}),
    exp.CTE: frozenset({"this", "alias"}),
    exp.Table: frozenset({"this", "alias", "db", "catalog", "joins"}),
    exp.Join: frozenset({"this", "side", "kind", "on", "using", "method"}),
    exp.Group: frozenset({"expressions"}),
    exp.Star: frozenset({"except_"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.TryCast: frozenset({"this", "to", "safe", "requires_string"}),
    exp.DataType: frozenset({"this", "expressions", "nested", "kind"}),
    exp.In: frozenset({"this", "expressions", "query", "unnest"}),
    exp.Between: frozenset({"this", "low", "high", "symmetric"}),
    exp.Trim: frozenset({"this", "expression", "position"}),
    exp.Column: frozenset({"this", "table", "db", "catalog"}),
    exp.Insert: frozenset({"hint", "this", "expression", "overwrite"}),
    exp.Create: frozenset({"this", "kind", "expression", "exists", "properties", "replace", "clone"}),
    exp.Set: frozenset({"expressions"}),
    exp.SetItem: frozenset({"this"}),
}

_WORDS = {
    "order": "ORDER BY",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "locks": "FOR UPDATE",
    "for_": "FOR",
    "laterals": "LATERAL VIEW",
    "pivots": "PIVOT",
    "sample": "TABLESAMPLE",
    "grouping_sets": "GROUPING SETS",
    "windows": "WINDOW",
    "match": "MATCH_RECOGNIZE",
    "connect": "CONNECT BY",
    "conflict": "ON CONFLICT",
    "except_": "EXCEPT",
    "all": "GROUP BY ALL",
    "kind": "AS STRUCT",
    "db": "a qualified name",
    "version": "FOR SYSTEM_TIME AS OF",
    "when": "FOR SYSTEM_TIME AS OF",
}


_WORDS_OF: dict[type[object], str] = {exp.Fetch: "FETCH"}


def refused_clauses(node: exp.Expr, script: Script) -> Iterator[EngineError]:
    """Yield an error for each unsupported clause in the statement."""
    for part in node.walk():
        supported = _SUPPORTED.get(type(part))
        if supported is None:
            continue
        for name, value in part.args.items():
            if value and name not in supported and not _is_version_in_join(part, name):
                yield refused_clause(part, name, script)


def _is_version_in_join(part: exp.Expr, name: str) -> bool:
    """Whether it is FOR SYSTEM_TIME AS OF after a table that is joined."""
    if name != "version" or not isinstance(part.parent, exp.Join):
        return False
    version = part.args[name]
    return (str(version.this), str(version.args.get("kind")).upper()) == ("TIMESTAMP", "AS OF")


def refused_clause(part: exp.Expr, name: str, script: Script) -> EngineError:
    """Return the error for one clause of a part of a statement."""
    if isinstance(part, exp.SetItem) and name == "kind":
        return _refused_kind(part, script)
    value = part.args[name]
    inside = value[0] if isinstance(value, list) else value
    words = _WORDS.get(name, name.strip("_").replace("_", " ").upper())
    words = _WORDS_OF.get(type(inside), words)
    if isinstance(inside, exp.Pivot) and inside.args.get("unpivot"):
        words = "UNPIVOT"
    at = script.position_of_word(words.split()[0], part, inside)
    return UnsupportedClauseError(f"{words} is not supported", hint=_HINTS_OF.get(words, _HINTS.get(name)), at=at)


def _refused_kind(part: exp.SetItem, script: Script) -> EngineError:
    kind = str(part.args["kind"]).upper()
    at = script.position_of_word(kind, part, part.this)
    return UnsupportedClauseError(f"SET {kind} is not supported", hint=f"leave out {kind}", at=at)


_HINTS_OF = {"UNPIVOT": "write one SELECT per column, with UNION ALL between them"}
_HINTS = {
    "except_": "name the columns",
    "replace": "name the columns",
    "rename": "name the columns",
    "order": "a stream has no order; use ORDER BY with LIMIT, or in a time window",
    "limit": "a stream has no end; use ORDER BY as well for the first rows so far, or a time window",
    "offset": "a stream has no end; use a time window",
    "version": "write it after a table that is joined: JOIN rates FOR SYSTEM_TIME AS OF orders.at AS r ON ...",
    "pivots": "write one aggregate per column: sum(n) FILTER (WHERE key = 'a') AS a",
    "sample": "write WHERE random() < 0.1",
    "laterals": "write CROSS JOIN UNNEST(array) AS t(x)",
    "match": "join the table with itself on the key and a range of time, once per step of the pattern",
    "connect": "join the table with itself, once per level",
    "locks": "leave it out; rows of a stream are not locked",
    "sort": "a stream has no order; use ORDER BY with LIMIT, or in a time window",
    "cluster": "leave it out; rows are distributed by the keys of GROUP BY and JOIN",
    "distribute": "leave it out; rows are distributed by the keys of GROUP BY and JOIN",
    "db": "leave out what is before the dot",
}


_BYTE_ORDER_MARK = "\ufeff"
MAX_BYTES = 1024 * 1024
MAX_DEPTH = 150
"""Deeper trees would overflow Python's stack in the parser, the translation or the printers."""
MAX_STATEMENTS = 1000
MAX_WORDS = 50_000

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement and its position. `node` is None if it cannot be parsed; `declares` is the name of a CREATE, if
    known."""

    node: exp.Expr | None
    at: TextPosition
    declares: str | None


@dataclass(frozen=True, slots=True)
class Script:
    """A parsed script: its statements, the errors, and where its lines and words begin."""

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
    """Return the statements of a script, in order. Raise ScriptRefused if there is none."""
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
    """Return the statement of a piece; its errors are added to the complaints."""
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
