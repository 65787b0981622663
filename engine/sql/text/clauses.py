"""Which clauses our statements have. What the parser reads beyond them is refused, never passed over.

    SELECT n FROM s TABLESAMPLE (10) ORDER BY n SORT BY n

The parser puts each clause under a name in `args` of its node: `sample` of the Table and `sort` of the Select are in no
list below, so both are refused, each where its first word stands.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from engine.errors import EngineError, UnsupportedClauseError
from engine.sql.text.parse import Script

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
}


_WORDS_OF: dict[type[object], str] = {exp.Fetch: "FETCH"}


def refused_clauses(node: exp.Expr, script: Script) -> Iterator[EngineError]:
    """A complaint for each clause in the statement that we do not support."""
    for part in node.walk():
        supported = _SUPPORTED.get(type(part))
        if supported is None:
            continue
        for name, value in part.args.items():
            if value and name not in supported:
                yield refused_clause(part, name, script)


def refused_clause(part: exp.Expr, name: str, script: Script) -> EngineError:
    """A complaint about one clause of a part of a statement."""
    if isinstance(part, exp.SetItem) and name == "kind":
        return _refused_kind(part, script)
    value = part.args[name]
    inside = value[0] if isinstance(value, list) else value
    words = _WORDS.get(name, name.strip("_").replace("_", " ").upper())
    words = _WORDS_OF.get(type(inside), words)
    at = script.position_of_word(words.split()[0], part, inside)
    return UnsupportedClauseError(f"{words} is not supported", hint=_HINTS.get(name), at=at)


def _refused_kind(part: exp.SetItem, script: Script) -> EngineError:
    kind = str(part.args["kind"]).upper()
    at = script.position_of_word(kind, part, part.this)
    return UnsupportedClauseError(f"SET {kind} is not supported", hint=f"leave out {kind}", at=at)


_HINTS = {
    "except_": "name the columns",
    "replace": "name the columns",
    "rename": "name the columns",
    "order": "a stream has no order; use ORDER BY with LIMIT, or in a time window",
    "limit": "a stream has no end; use ORDER BY as well for the first rows so far, or a time window",
    "offset": "a stream has no end; use a time window",
}
