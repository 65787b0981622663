"""Which windows a range of event time cuts through."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engine.compile import compile_script
from engine.plan.times import cut_windows

TABLE = """
CREATE TABLE t (at TIMESTAMP NOT NULL, k TEXT, n BIGINT, WATERMARK FOR at)
WITH (connector = 'single_file', path = '/t', format = 'json', type = 'source');
"""
MIDNIGHT, HALF_PAST = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 0, 30, tzinfo=UTC)
HOURS = "SELECT tumble(INTERVAL '1 hour') AS w, k, count(*) AS n FROM t GROUP BY 1, 2"
OVERLAPPING = "hop(INTERVAL '30 minutes', INTERVAL '1 hour')"


def cuts(query: str, *edges: datetime) -> int:
    return len(cut_windows(compile_script(f"{TABLE} {query};").writes, edges))


def test_tumbling_windows_are_whole_where_the_range_begins_and_ends_with_them() -> None:
    assert cuts(HOURS, MIDNIGHT) == 0
    assert cuts(HOURS, MIDNIGHT, HALF_PAST) == 1
    assert cuts(f"SELECT max(n) FROM ({HOURS}) GROUP BY w", HALF_PAST) == 1


@pytest.mark.parametrize("window", [OVERLAPPING, "session(INTERVAL '5 minutes')"])
def test_windows_that_overlap_and_sessions_are_cut_anywhere(window: str) -> None:
    assert cuts(f"SELECT {window} AS w, count(*) FROM t GROUP BY 1", MIDNIGHT) == 1


def test_query_without_windows_is_never_cut() -> None:
    assert cuts("SELECT k, count(*) FROM t GROUP BY k", HALF_PAST) == 0
    assert cuts("SELECT k FROM t", HALF_PAST) == 0


def test_without_edges_nothing_is_cut() -> None:
    assert cuts(HOURS) == 0
