"""The arithmetic of `make bench-latency`."""

from __future__ import annotations

from benchmarks.latency_figures import SeenRow, row_latencies, summarize, window_latencies


def test_a_row_counts_from_its_event_if_that_is_late_enough() -> None:
    rows = [SeenRow(10.0, 10.5), SeenRow(12.0, 12.25), SeenRow(13.0, 13.5)]

    assert row_latencies(rows, since=12.0) == [0.25, 0.5]


def test_a_window_counts_from_the_first_event_that_shows_that_it_is_over() -> None:
    produced = [9.5, 10.25, 10.5, 12.0]
    rows = [SeenRow(10.0, 11.0), SeenRow(10.0, 11.5), SeenRow(12.0, 12.75)]

    assert window_latencies(rows, produced, since=10.0) == [0.75, 0.75]


def test_windows_of_the_time_to_warm_up_and_after_the_last_event_are_left_out() -> None:
    rows = [SeenRow(8.0, 9.0), SeenRow(10.0, 11.0), SeenRow(14.0, 15.0)]

    assert window_latencies(rows, [8.0, 10.0, 12.0], since=9.0) == [1.0]


def test_half_are_not_above_the_median_and_one_of_a_hundred_is_above_the_99th() -> None:
    latencies = [number / 100 for number in range(100, 0, -1)]

    summary = summarize(latencies)

    assert (summary.count, summary.p50, summary.p99) == (100, 0.5, 0.99)


def test_both_percentiles_of_one_latency_equal_it() -> None:
    summary = summarize([0.3])

    assert (summary.p50, summary.p99) == (0.3, 0.3)
