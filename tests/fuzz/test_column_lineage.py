"""A column whose values are changed changes the columns that its lineage names, and no others.

The oracle answers the query over the rows as they are and over rows in which one column has other values; the rows are
compared without the columns that may change. Nothing is run: that the oracle and a run agree is tried elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import pytest

from engine.compile import compile_script
from engine.plan.column_lineage import ColumnLineage, Direct, Indirect, Origins, Use
from tests.fuzz.changed_columns import columns_that_differ, with_column_changed
from tests.fuzz.oracle import Oracle, Row, difference
from tests.fuzz.own import own_functions
from tests.fuzz.plays import Case, random_case
from tests.fuzz.queries import Relation

SEEDS = range(50_060, 50_086)
_DIRECT: tuple[Direct, ...] = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")
_INDIRECT: tuple[Indirect, ...] = ("FILTER", "JOIN", "GROUP_BY", "WINDOW", "CONDITIONAL")
"""Not SORT: what the random queries order by, they group by, too."""


@dataclass(frozen=True)
class Change:
    """A column with other values, and what it did to the rows of a query."""

    query: Relation
    source: tuple[str, str]
    lineage: ColumnLineage
    before: list[Row]
    after: list[Row]

    @property
    def decides_on_rows(self) -> bool:
        """Whether any column may change, since other rows may be there."""
        return any((origin.table, origin.column) == self.source for origin in self.lineage.rows)

    @property
    def named(self) -> set[str]:
        """The columns of the query that name it."""
        return {
            name
            for name, origins in self.lineage.columns.items()
            if any((origin.table, origin.column) == self.source for origin in origins)
        }

    @property
    def wrong(self) -> str:
        """What differs that does not name it."""
        if self.decides_on_rows:
            return ""
        others = [place for place, name in enumerate(self.query.columns) if name not in self.named]
        rows = ([tuple(row[place] for place in others) for row in side] for side in (self.before, self.after))
        return difference(*rows)


def changes_of(case: Case, folder: Path) -> Iterator[Change]:
    """What each column does that the queries of a case read in any way, to each of them."""
    folder.mkdir(parents=True, exist_ok=True)
    program = compile_script(case.script(folder), udfs=(own_functions(case.seed),))
    lineages = program.column_lineage
    oracle = Oracle(case.streams)
    before = _answers(oracle, case)
    for stream in case.streams:
        scan = program.scans.get(stream.name)
        for column in sorted(scan.decoded) if scan else ():
            oracle.take(with_column_changed(stream, column))
            after = _answers(oracle, case)
            for number, query in enumerate(case.queries):
                if number in before and number in after:
                    lineage = lineages[f"out{number}"]
                    yield Change(query, (stream.name, column), lineage, before[number], after[number])
        oracle.take(stream)
    oracle.close()


def _answers(oracle: Oracle, case: Case) -> Mapping[int, list[Row]]:
    """The rows of the queries that have an answer, by their numbers."""
    rows = {}
    for number, query in enumerate(case.queries):
        try:
            rows[number] = oracle.answer(query.query(for_engine=False), query.columns)
        except duckdb.Error:  # a value that cannot be cast, after it was changed
            continue
    return rows


@pytest.fixture(scope="module")
def changes(tmp_path_factory: pytest.TempPathFactory) -> list[Change]:
    """All changes of all cases."""
    folder = tmp_path_factory.mktemp("lineage")
    return [change for seed in SEEDS for change in changes_of(random_case(seed), folder / str(seed))]


def test_only_columns_that_name_a_column_change_with_it(changes: list[Change]) -> None:
    wrong = [f"{change.source}: {change.wrong}\n{change.query.query(for_engine=True)}" for change in changes]
    assert [text for change, text in zip(changes, wrong, strict=True) if change.wrong] == []


def test_most_columns_that_name_a_column_change_with_it(changes: list[Change]) -> None:
    """Not all of them: the other value may be in no row that is left, or as great as the one before."""
    named = sum(len(change.named) for change in changes if change.before)
    differ = sum(
        len(change.named & columns_that_differ(change.query, change.before, change.after)) for change in changes
    )
    deciding = [change for change in changes if change.decides_on_rows and change.before]
    others = sum(bool(difference(change.before, change.after)) for change in deciding)

    assert named > 100
    assert differ / named > 0.6
    assert len(deciding) > 50
    assert others / len(deciding) > 0.6


@pytest.mark.parametrize("use", [*_DIRECT, *_INDIRECT])
def test_a_use_that_was_overlooked_would_be_found(changes: list[Change], use: Use) -> None:
    assert any(replace(change, lineage=_without(change.lineage, use)).wrong for change in changes)


def _without(lineage: ColumnLineage, use: Use) -> ColumnLineage:
    columns = {name: _all_but(origins, use) for name, origins in lineage.columns.items()}
    return ColumnLineage(columns, _all_but(lineage.rows, use))


def _all_but(origins: Origins, use: Use) -> Origins:
    return frozenset(origin for origin in origins if origin.use != use)
