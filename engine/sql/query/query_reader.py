"""What the clauses of a query ask of the script around it, and of the queries inside it."""

from __future__ import annotations

from datetime import timedelta
from typing import Protocol

from sqlglot import exp

from engine.sql.catalog import LookupTable
from engine.sql.scope import Relation, ScopedRows
from engine.sql.text.parse import Script


class QueryReader(Protocol):
    """Gives queries and the names in them their meaning."""

    @property
    def script(self) -> Script:
        """The script that the queries are in."""

    @property
    def updating_ttl(self) -> timedelta:
        """For how long rows are kept that no window closes."""

    def translate(self, query: exp.Expr) -> Relation:
        """The relation that a query describes. Raises ScriptRefused with all that is wrong in it."""

    def read_from(self, select: exp.Select) -> ScopedRows:
        """The rows in the FROM of a SELECT, and what their columns are called."""

    def read_table(self, name: str) -> Relation:
        """The CTE, table or view of that name; refused when there is none or it cannot be read."""

    def find_lookup(self, name: str) -> LookupTable | None:
        """The lookup table of that name, if it is one and no CTE."""
