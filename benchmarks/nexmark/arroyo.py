"""Ours beside Arroyo, which was measured on another day, with peers that are measured still.

Arroyo is built from source, which is not part of the benchmark. So its figures of that day are kept here, with those of
PySpark by hand and of Flink SQL over the same 3,000,000 events, and a ratio crosses from one day to the other by a
peer that has been measured on both:

    ours / Arroyo  =  ours / peer, of today  x  peer / Arroyo, of that day

The peers do not agree, since machines and days differ in more than one speed. What is judged is the geometric mean of
both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.nexmark.measured import Result, geometric_mean
from benchmarks.nexmark.ratios import ratio_of

ARROYO = "arroyo"
SECONDS: Mapping[str, Mapping[str, float]] = {
    ARROYO: {"q0": 7.5, "q1": 7.9, "q2": 7.6, "q3": 1.8, "q5": 9.5, "q7": 8.2, "q8": 1.2, "q12": 8.5},
    "spark": {"q0": 9.4, "q1": 9.6, "q2": 6.6, "q3": 7.3, "q5": 20.2, "q7": 10.5, "q8": 13.4, "q12": 12.5},
    "flink": {"q0": 12.0, "q1": 12.1, "q2": 9.9, "q3": 3.4, "q5": 15.1, "q7": 12.1, "q8": 3.9, "q12": 11.3},
}
"""CPU seconds of a query over 3,000,000 events as lines of JSON, on two quiet cores in November 2026. Arroyo's are with
its start, of two subtasks."""
BRIDGES = ("spark", "flink")
"""Who was measured on that day, and is on any other."""


def ratio_across(results: Sequence[Result], query: str, ours: str, bridge: str) -> float | None:
    """Ours by Arroyo, CPU, as one of the peers says; None where it is not known."""
    today = ratio_of(results, query, ours, bridge)
    if today is None or query not in SECONDS[ARROYO]:
        return None
    return today * SECONDS[bridge][query] / SECONDS[ARROYO][query]


def ratio_to_arroyo(results: Sequence[Result], query: str, ours: str) -> float | None:
    """Ours by Arroyo, CPU, as both peers say; None where one of them is not known."""
    ratios = [ratio_across(results, query, ours, bridge) for bridge in BRIDGES]
    known = [ratio for ratio in ratios if ratio is not None]
    return geometric_mean(known) if len(known) == len(ratios) else None
