"""A run that has lost all executors of its cluster ends, once it is clear that none comes back."""

from __future__ import annotations

from datetime import timedelta

import pytest

from engine.errors import NoExecutorsError
from engine.spark.run.executors import ExecutorWatch


def watch(counts: list[int]) -> tuple[ExecutorWatch, list[float]]:
    times = [0.0]
    found = iter(counts)
    return ExecutorWatch(lambda: next(found), "spark://host:7077", timedelta(seconds=60), lambda: times[-1]), times


def test_run_without_executors_ends_after_its_patience() -> None:
    watched, times = watch([2, 0, 0, 0])
    for second in (0.0, 10.0, 69.0):
        times.append(second)
        watched.look()
    times.append(75.0)

    with pytest.raises(NoExecutorsError, match=r"spark://host:7077 have been gone for 60 s"):
        watched.look()


def test_executor_that_comes_back_in_time_lets_the_run_go_on() -> None:
    watched, times = watch([0, 0, 1, 0, 0])

    for second in (0.0, 50.0, 59.0, 70.0, 120.0):
        times.append(second)
        watched.look()


def test_executors_are_not_counted_with_every_poll() -> None:
    watched, times = watch([1])

    for second in (0.0, 0.5, 4.9):
        times.append(second)
        watched.look()
