"""When windows of a query may end."""

from __future__ import annotations

from datetime import timedelta

import pytest

from engine.compile import compile_script
from engine.plan.times import Ends, window_ends

_TABLES = """
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = '10');
CREATE TABLE nowhere WITH (connector = 'blackhole');
INSERT INTO nowhere
"""


def ends_of(query: str) -> tuple[Ends, ...] | None:
    """Those of a query over ticks."""
    return window_ends(compile_script(f"{_TABLES} {query};").parts.branches)


def seconds(every: float, since: float = 0) -> Ends:
    """Moments so many seconds apart."""
    return Ends(timedelta(seconds=every), timedelta(seconds=since))


@pytest.mark.parametrize(
    ("windows", "ends"),
    [
        (["tumble(INTERVAL '10 seconds')"], (seconds(10),)),
        (["hop(INTERVAL '2 seconds', INTERVAL '10 seconds')"], (seconds(2),)),
        (
            ["tumble(INTERVAL '10 seconds')", "hop(INTERVAL '4 seconds', INTERVAL '8 seconds')"],
            (seconds(4), seconds(10)),
        ),
        (["tumble(INTERVAL '10 seconds')", "session(INTERVAL '4 seconds')"], None),
        (["cumulate(INTERVAL '10 seconds', INTERVAL '1 minute')"], (seconds(10),)),
        (["tumble(INTERVAL '1 month')"], (seconds(86_400),)),
        (["tumble(INTERVAL '1 day', INTERVAL '6 hours')"], (seconds(86_400, 21_600),)),
        (["tumble(INTERVAL '1 day', 'Europe/Berlin')"], (seconds(1),)),
    ],
)
def test_windows_end_on_their_grid_and_sessions_whenever_they_like(
    windows: list[str], ends: tuple[Ends, ...] | None
) -> None:
    counted = [f"SELECT n FROM (SELECT {window} AS w, count(*) AS n FROM ticks GROUP BY w)" for window in windows]
    assert ends_of(" UNION ALL ".join(counted)) == ends


def test_a_hop_that_is_no_multiple_of_its_step_ends_between_steps() -> None:
    hop = "SELECT hop(INTERVAL '2 seconds', INTERVAL '5 seconds') AS w, count(*) AS n FROM ticks GROUP BY w"
    assert ends_of(f"SELECT n FROM ({hop})") == (seconds(2, 1),)


def test_query_without_windows_has_no_window_ends() -> None:
    assert ends_of("SELECT counter FROM ticks") is None
