"""The lag of a stream is what a clock that looks all the time would have seen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_arroyo.conditions import LagBounds
from airflow_provider_arroyo.polling import MOST_EPOCHS, is_within
from airflow_provider_arroyo.responses import Checkpoint

NOW = datetime(2026, 1, 31, 5, tzinfo=UTC)
Commit = tuple[int, int]
"""How many seconds before now an epoch was committed, and how far its watermark was behind then."""


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def epochs(*commits: Commit) -> tuple[Checkpoint, ...]:
    return tuple(
        Checkpoint(epoch, NOW - seconds(ago), watermark=NOW - seconds(ago + behind))
        for epoch, (ago, behind) in enumerate(commits)
    )


def seen(commits: list[Commit], steady: int) -> list[float]:
    """The lag at each half second of the last so many, and, right before a commit, as it was until then."""
    looks = [steady - step / 2 for step in range(2 * steady + 1)]
    lags = []
    for ago in looks:
        before = [commit for commit in commits if commit[0] > ago]
        at = [commit for commit in commits if commit[0] == ago]
        if before:
            newest = min(before, key=lambda commit: commit[0])
            lags.append(newest[1] + newest[0] - ago)
        if at:
            lags.append(at[0][1])
    return lags


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 30)), min_size=1, max_size=6, unique_by=lambda pair: pair[0]),
    st.integers(0, 20),
    st.integers(0, 40),
    st.integers(0, 5),
)
def test_a_bound_holds_when_it_holds_at_each_look(commits: list[Commit], steady: int, bound: int, slack: int) -> None:
    commits = sorted(commits, reverse=True)
    told = epochs(*commits)
    now = commits[-1][0] + commits[-1][1]
    is_known = commits[0][0] >= steady
    lags = seen([*commits], steady)

    most = is_within(LagBounds(at_most=seconds(bound), steady=seconds(steady), slack=seconds(slack)), told, NOW)
    least = is_within(LagBounds(at_least=seconds(bound), steady=seconds(steady), slack=seconds(slack)), told, NOW)

    assert most is (is_known and now <= bound and max(lags) <= bound + slack)
    assert least is (is_known and now >= bound and min(lags) >= bound - slack)


def test_lag_is_unknown_without_epochs() -> None:
    assert not is_within(LagBounds(at_most=seconds(5)), (), NOW)
    assert not is_within(LagBounds(at_most=seconds(5)), (Checkpoint(1, NOW), Checkpoint(2, None, watermark=NOW)), NOW)


@pytest.mark.parametrize(("count", "is_enough"), [(MOST_EPOCHS, True), (MOST_EPOCHS - 1, False)])
def test_lag_is_known_from_the_largest_page_of_epochs(count: int, is_enough: bool) -> None:
    told = epochs(*((1, 0) for _ in range(count)))

    assert is_within(LagBounds(at_most=seconds(5), steady=seconds(60)), told, NOW) is is_enough
