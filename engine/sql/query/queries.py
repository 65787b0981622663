"""Queries: what a SELECT, a set operation or a WITH describes, among the tables and CTEs in reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from sqlglot import exp

from engine.errors import UnsupportedClauseError
from engine.plan.tree import Node
from engine.sql.catalog import Catalog, LookupTable
from engine.sql.complaints import BrokenTableError, Complaints, errors_located
from engine.sql.query.from_clause import read_from, rename_columns
from engine.sql.query.operator_hints import OperatorHints, hint_of
from engine.sql.query.select import translate_select
from engine.sql.query.set_operations import translate_set_operation
from engine.sql.relation_limits import count_relations
from engine.sql.scope import Relation, ScopedRows
from engine.sql.text.parse import Script

UPDATING_TTL = timedelta(days=1)
"""How long rows are kept that no window closes, unless a script says otherwise."""


@dataclass(frozen=True, slots=True)
class Queries:
    """Translates the queries of one script. `ctes` are the WITH names in reach; None is one that was refused.
    `updating_ttl` says for how long rows are kept that no window closes. `read` gathers what the SELECT in hand reads
    of others, if somebody asks for that."""

    script: Script
    catalog: Catalog
    updating_ttl: timedelta = UPDATING_TTL
    ctes: Mapping[str, Relation | None] = field(default_factory=dict)
    hints: OperatorHints = field(default_factory=OperatorHints)
    read: list[Node] | None = None

    def translate(self, query: exp.Expr) -> Relation:
        """The relation that a query describes. Raises ScriptRefused with all that is wrong in it."""
        complaints = Complaints()
        relation: Relation | None = None
        with complaints.collect(self.script.position(query)):
            relation = self._with_ctes(query, complaints).translate_body(query)
        complaints.raise_any()
        if relation is None:
            raise BrokenTableError("a CTE")
        return self._noted(relation)

    def read_from(self, select: exp.Select) -> ScopedRows:
        """The rows in the FROM of a SELECT, and what their columns are called."""
        return read_from(self, select)

    def read_table(self, name: str) -> Relation:
        """The CTE, table or view of that name; refused when there is none or it cannot be read."""
        if name.lower() not in self.ctes:
            return self._noted(self.catalog.read(name))
        relation = self.ctes[name.lower()]
        if relation is None:
            raise BrokenTableError(name)
        return self._noted(relation)

    def _noted(self, relation: Relation) -> Relation:
        if self.read is not None:
            self.read.append(relation.rows)
        return relation

    def find_lookup(self, name: str) -> LookupTable | None:
        """The lookup table of that name, if it is one and no CTE."""
        return None if name.lower() in self.ctes else self.catalog.find_lookup(name)

    def _with_ctes(self, query: exp.Expr, complaints: Complaints) -> Queries:
        """Add the CTEs of a query, each of which sees those before it."""
        inner = replace(self, read=None)
        clause = query.args.get("with_")
        if clause is None:
            return inner
        if clause.args.get("recursive"):
            raise UnsupportedClauseError("a recursive CTE is not supported", at=self.script.position(clause))
        queries = inner
        for cte in clause.expressions:
            relation: Relation | None = None
            with complaints.collect(self.script.position(cte.this)):
                relation = rename_columns(queries.translate(cte.this), cte.args.get("alias"), self.script)
                count_relations(relation.rows)
            queries = replace(queries, ctes={**queries.ctes, cte.alias.lower(): relation})
        return queries

    def translate_body(self, query: exp.Expr) -> Relation:
        """The relation that a query describes, once its WITH is read."""
        match query:
            case exp.Subquery():
                return self.translate(query.this)
            case exp.SetOperation():
                return translate_set_operation(self, query)
            case exp.Select():
                return self._translate_select(query)
        raise UnsupportedClauseError(f"{type(query).__name__.upper()} is not supported", at=self.script.position(query))

    def _translate_select(self, query: exp.Select) -> Relation:
        hint = hint_of(query)
        if hint is None:
            return translate_select(self, query)
        read: list[Node] = []
        relation = translate_select(replace(self, read=read), query)
        with errors_located(self.script.position(hint)):
            return replace(relation, rows=self.hints.pin(relation.rows, hint, read))
