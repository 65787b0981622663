"""What a query is: once for each dialect, so that they stand side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Dialect = Literal["ours", "spark", "flink", "duckdb"]
DIALECTS: tuple[Dialect, ...] = ("ours", "spark", "flink", "duckdb")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A query that a peer does not play, and why."""

    reason: str


InSpark = Callable[[Mapping[str, "DataFrame"]], "DataFrame"]
"""From the streams by name (`bid`, `auction`, `person`, and the table `side`) to the answer."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query of Nexmark. `sql` is that of all dialects of SQL that have nothing in `variants`."""

    name: str
    title: str
    kinds: str
    """The types of its columns: i whole, d floating, t text, ts instant."""
    tables: tuple[str, ...]
    sql: str
    spark: InSpark | LeftOut
    variants: Mapping[Dialect, str | LeftOut] = field(default_factory=dict)
    is_windowed: bool = False
    """Whether it needs watermarks; then its second column is the instant at which the window of a row closes."""
    key: tuple[int, ...] | None = None
    """Of a query that changes its rows: the columns by which a row in Spark replaces the one before."""

    def in_sql(self, dialect: Dialect) -> str | LeftOut:
        """The query in a dialect of SQL."""
        return self.variants.get(dialect, self.sql)

    def left_out_of(self, dialect: Dialect) -> LeftOut | None:
        """Why a peer does not play it, if so."""
        query = self.spark if dialect == "spark" else self.in_sql(dialect)
        return query if isinstance(query, LeftOut) else None

    @property
    def is_updating(self) -> bool:
        """Whether rows of the answer change as more comes in."""
        return self.key is not None
