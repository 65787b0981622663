from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.nexmark.arroyo import SECONDS, ratio_across, ratio_to_arroyo
from benchmarks.nexmark.goals import Goal
from benchmarks.nexmark.measured import Play, Result
from benchmarks.nexmark.page import DOCS, WORDS, files, read_results
from benchmarks.nexmark.queries import NINE
from benchmarks.nexmark.ratios import ratio_of


def result(date: str, **plays: dict[str, Sequence[float]]) -> Result:
    """A run in which peers have taken these CPU seconds, round by round."""
    made = {
        query: {peer: [Play(cpu, 2 * cpu, 100.0) for cpu in rounds] for peer, rounds in peers.items()}
        for query, peers in plays.items()
    }
    machine = {"processor": "p", "cores": "2", "memory": "1 GiB", "java": "17", "python": "3"}
    return Result(date, "abc", machine, (1, 2, 3), 1000, 2, 2, "json", made)


def test_the_page_and_its_charts_are_of_what_was_measured() -> None:
    stale = [
        place
        for place, text in files(read_results(), WORDS.read_text()).items()
        if not (DOCS / place).exists() or (DOCS / place).read_text() != text
    ]

    assert stale == [], "run: python -m benchmarks.nexmark.page"


def test_a_ratio_is_that_of_rounds_and_of_the_newest_run_with_both() -> None:
    old = result("2024-01-01", q0={"ours": [1, 2, 30], "spark": [2, 4, 10]}, q1={"ours": [1], "spark": [4]})
    new = result("2024-01-02", q0={"ours": [6], "spark": [3]}, q1={"ours": [1], "flink": [1]})

    assert old.ratio("q0", "ours", "spark") == 0.5
    assert ratio_of([old, new], "q0", "ours", "spark") == 2
    assert ratio_of([old, new], "q1", "ours", "spark") == 0.25
    assert ratio_of([old, new], "q1", "fused", "spark") is None


def test_a_goal_is_judged_when_all_of_its_queries_were_measured() -> None:
    runs = [result("2024-01-01", q0={"ours": [1], "flink": [4]}, q1={"ours": [1], "flink": [1]})]

    assert Goal("flink", ("q0", "q1"), 1, 1).value(runs, "ours") == 1
    assert Goal("flink", ("q0", "q1"), 1, 1, is_mean=True).value(runs, "ours") == pytest.approx(0.5)
    assert Goal("flink", ("q0", "q1"), 1, 1, figure="wall", is_mean=True).value(runs, "ours") == pytest.approx(0.5)
    assert Goal("flink", NINE, 1, 1).value(runs, "ours") is None


def test_a_ratio_to_arroyo_crosses_by_both_peers_that_were_measured_beside_it() -> None:
    of_that_day = {peer: seconds["q0"] for peer, seconds in SECONDS.items()}
    # a machine of half the speed, and ours like Arroyo; Flink has become twice as good
    plays = {
        "fused": [2 * of_that_day["arroyo"]],
        "spark": [2 * of_that_day["spark"]],
        "flink": [of_that_day["flink"]],
    }
    runs = [result("2024-01-01", q0=plays, q1={"fused": [1], "spark": [1]}, q11=plays)]

    assert ratio_across(runs, "q0", "fused", "spark") == pytest.approx(1)
    assert ratio_across(runs, "q0", "fused", "flink") == pytest.approx(2)
    assert ratio_to_arroyo(runs, "q0", "fused") == pytest.approx(2**0.5)
    assert Goal("arroyo", ("q0",), 1.5, 1).value(runs, "fused") == pytest.approx(2**0.5)
    assert ratio_to_arroyo(runs, "q1", "fused") is None
    assert ratio_to_arroyo(runs, "q11", "fused") is None


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    run = result("2024-01-01", q0={"ours": [1.25], "spark": [2]})
    run.save(tmp_path / "nexmark-2024.json")

    assert read_results(tmp_path)[0].plays == run.plays


def test_runs_over_another_input_have_a_table_of_their_own() -> None:
    of_json = result("2024-01-01", q0={"fused": [1], "spark": [4]})
    of_topics = replace(result("2024-01-02", q0={"fused": [3], "spark": [4]}), layout="kafka")

    page = files([of_json, of_topics], "{{runs}}\n{{ratios}}\n{{inputs}}")["benchmarks.md"]

    assert "| 1,000 | kafka |" in page
    assert "| q0, pass through |  | 0.25 |" in page
    assert "Kafka: ours, fused / PySpark" in page
    assert "| q0 | 0.75 |" in page


def test_the_page_says_that_there_are_no_runs() -> None:
    assert files([], "{{runs}}")["benchmarks.md"].startswith("No run is kept yet")


def test_the_page_says_what_is_not_measured() -> None:
    page = files([result("2024-01-01", q0={"ours": [1], "spark": [4]})], "{{goals}}\n{{ratios}}\n{{seconds}}")

    assert "not measured" in page["benchmarks.md"]
    assert "| q0, pass through | 0.25 |" in page["benchmarks.md"]
    assert "1.0 (2.0 s, 100 MB)" in page["benchmarks.md"]
