"""`python -m benchmarks.nexmark.page` writes docs/benchmarks.md and its charts from what has been measured.

The words are in `page.md`, in which `{{name}}` stands for a table, a list or a chart that is made here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.charts import grouped_bars, shares
from benchmarks.nexmark.arroyo import ARROYO, BRIDGES, SECONDS, ratio_across, ratio_to_arroyo
from benchmarks.nexmark.goals import GOALS
from benchmarks.nexmark.measured import OURS, PEERS, Result
from benchmarks.nexmark.queries import QUERIES
from benchmarks.nexmark.queries.base import DIALECTS
from benchmarks.nexmark.ratios import newest_with, ratio_of

_ROOT = Path(__file__).parents[2]
WORDS = Path(__file__).parent / "page.md"
RESULTS = _ROOT / "benchmarks" / "results"
DOCS = _ROOT / "docs"
_NAMES = {
    "ours": "ours",
    "fused": "ours, fused",
    "spark": "PySpark",
    "flink": "Flink SQL",
    "duckdb": "DuckDB, batch",
}

_INPUTS = {"parquet": "Parquet", "kafka": "Kafka"}


def read_results(folder: Path = RESULTS) -> Sequence[Result]:
    """All results of Nexmark, from the oldest to the newest."""
    return [Result.load_from(path) for path in sorted(folder.glob("nexmark-*.json"))]


def files(results: Sequence[Result], words: str) -> Mapping[str, str]:
    """What the page consists of: the text of each file, by its place in docs."""
    of_json = [result for result in results if result.layout == "json"]
    charts = {f"benchmarks/{name}.svg": draw(of_json) for name, draw in _CHARTS.items()}

    def block(match: re.Match[str]) -> str:
        draw, is_of_all = _BLOCKS[match[1]]
        return draw(results if is_of_all else of_json)

    return {"benchmarks.md": re.sub(r"\{\{(\w+)\}\}", block, words), **charts}


def main() -> None:
    """Write them."""
    for place, text in files(read_results(), WORDS.read_text()).items():
        path = DOCS / place
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        print(f"docs/{place}")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines)


def _runs(results: Sequence[Result]) -> str:
    if not results:
        return "No run is kept yet, so the tables and charts below are empty."
    return _table(
        ("run", "commit", "events", "input", "epochs", "rounds", "load at the end", "machine"),
        (
            (
                result.date,
                f"`{result.commit}`",
                f"{result.events:,}",
                result.layout,
                str(result.epochs),
                str(result.rounds),
                f"{result.load[1]:.0f} on {result.machine['cores']} cores",
                f"{result.machine['processor']}, {result.machine['memory']}, Java {result.machine['java']}, "
                f"Python {result.machine['python']}",
            )
            for result in results
        ),
    )


def _measured(results: Sequence[Result]) -> Sequence[str]:
    return [query for query in QUERIES if any(result.plays.get(query) for result in results)]


def _ratios(results: Sequence[Result]) -> str:
    others = [peer for peer in PEERS if peer not in OURS]
    head = [f"{_NAMES[ours]} / {_NAMES[peer]}" for peer in others for ours in OURS]
    rows = [
        [
            f"{query}, {QUERIES[query].title}",
            *(_figure(ratio_of(results, query, ours, peer)) for peer in others for ours in OURS),
        ]
        for query in _measured(results)
    ]
    return _table(("query", *head), rows)


def _seconds(results: Sequence[Result]) -> str:
    rows = []
    for query in _measured(results):
        plays = {peer: newest_with(results, query, peer) for peer in PEERS}
        cells = (_cell(result, query, peer) for peer, result in plays.items())
        rows.append([query, *cells])
    return _table(("query", *(_NAMES[peer] for peer in PEERS)), rows)


def _cell(result: Result | None, query: str, peer: str) -> str:
    if result is None:
        return ""
    cpu, wall, megabytes = (result.median(query, peer, figure) for figure in ("cpu", "wall", "megabytes"))
    return f"{cpu:.1f} ({wall:.1f} s, {megabytes:.0f} MB)"


def _inputs(results: Sequence[Result]) -> str:
    """Ratios of CPU of ours, fused, where events lie in something else than files of JSON."""
    columns = [
        (layout, peer)
        for layout in _INPUTS
        for peer in PEERS
        if peer not in OURS and any(_ratio_over(results, layout, query, peer) is not None for query in QUERIES)
    ]
    rows = [
        [query, *(_figure(_ratio_over(results, layout, query, peer)) for layout, peer in columns)]
        for query in QUERIES
        if any(_ratio_over(results, layout, query, peer) is not None for layout, peer in columns)
    ]
    head = [f"{_INPUTS[layout]}: {_NAMES['fused']} / {_NAMES[peer]}" for layout, peer in columns]
    return _table(("query", *head), rows) if rows else "Nothing else was measured yet."


def _ratio_over(results: Sequence[Result], layout: str, query: str, peer: str) -> float | None:
    return ratio_of([result for result in results if result.layout == layout], query, "fused", peer)


def _beside_arroyo(results: Sequence[Result]) -> str:
    """Ratios of CPU of ours, fused, by Arroyo's of another day, as each peer says that was measured on both."""
    rows = [
        [
            query,
            f"{seconds:.1f}",
            *(_figure(ratio_across(results, query, "fused", bridge)) for bridge in BRIDGES),
            _figure(ratio_to_arroyo(results, query, "fused")),
        ]
        for query, seconds in SECONDS[ARROYO].items()
    ]
    return _table(("query", "Arroyo's CPU s", *(f"by {_NAMES[bridge]}" for bridge in BRIDGES), "both"), rows)


def _goals(results: Sequence[Result]) -> str:
    rows = []
    for goal in GOALS:
        values = [goal.value(results, ours) for ours in OURS]
        rows.append(
            (goal.title, f"{goal.must:.2f}", f"{goal.goal:.2f}", *(_verdict(value, goal.must) for value in values))
        )
    return _table(("ratio", "required", "goal", *(_NAMES[ours] for ours in OURS)), rows)


def _verdict(value: float | None, must: float) -> str:
    return "not measured" if value is None else f"**{value:.2f}**" if value <= must else f"{value:.2f}, missed"


def _refused(results: Sequence[Result]) -> str:
    reasons = {
        (peer, query.name): left_out.reason
        for query in QUERIES.values()
        for peer in DIALECTS
        if (left_out := query.left_out_of(peer))
    }
    lines = [f"- {query}, {_NAMES[peer]}: {reason}." for (peer, query), reason in reasons.items()]
    newest = {
        (query, peer): reason
        for result in results
        for query, peers in result.refused.items()
        for peer, reason in peers.items()
        if (peer, query) not in reasons
    }
    lines += [
        f"- {query}, {_NAMES[peer]}: no result, because the last attempt failed: {reason.splitlines()[0]}"
        for (query, peer), reason in newest.items()
        if newest_with(results, query, peer) is None
    ]
    return "\n".join(lines)


def _figure(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def _draw_ratios(peer: str) -> Callable[[Sequence[Result]], str]:
    def draw(results: Sequence[Result]) -> str:
        groups = {}
        for query in _measured(results):
            ratios = {_NAMES[ours]: ratio_of(results, query, ours, peer) for ours in OURS}
            known = {name: ratio for name, ratio in ratios.items() if ratio is not None}
            if known:
                groups[query] = known
        return grouped_bars(f"CPU of ours relative to {_NAMES[peer]} (less is better)", groups, "x", line=1.0)

    return draw


def _draw_kinds(results: Sequence[Result]) -> str:
    return shares("CPU of ours by kind of process", _of_plays(results, "fused", _kinds))


def _draw_phases(results: Sequence[Result]) -> str:
    return shares("Time of ours by phase of an epoch", _of_plays(results, "fused", _phases))


def _of_plays(
    results: Sequence[Result], peer: str, parts: Callable[[Result, str, str], Mapping[str, float]]
) -> Mapping[str, Mapping[str, float]]:
    return {
        query: parts(result, query, peer)
        for query in _measured(results)
        if (result := newest_with(results, query, peer)) is not None
    }


def _kinds(result: Result, query: str, peer: str) -> Mapping[str, float]:
    """Java, the driver's Python, and the workers, in which rows are read, decoded and merged."""
    seconds = {"Java": 0.0, "workers": 0.0, "driver": 0.0}
    for play in result.plays[query][peer]:
        for kind, spent in play.by_kind.items():
            seconds[{"java": "Java", "root": "driver"}.get(kind, "workers")] += spent
    return seconds


def _phases(result: Result, query: str, peer: str) -> Mapping[str, float]:
    names = ("find", "log", "plan", "compute", "deliver", "commit")
    return {name: sum(play.phases.get(name, 0.0) for play in result.plays[query][peer]) for name in names}


_BLOCKS: Mapping[str, tuple[Callable[[Sequence[Result]], str], bool]] = {
    "runs": (_runs, True),
    "ratios": (_ratios, False),
    "seconds": (_seconds, False),
    "inputs": (_inputs, True),
    "arroyo": (_beside_arroyo, False),
    "goals": (_goals, False),
    "refused": (_refused, False),
}
"""What is written for a name, and whether it is of all runs: otherwise of those over files of JSON."""
_CHARTS: Mapping[str, Callable[[Sequence[Result]], str]] = {
    "by-spark": _draw_ratios("spark"),
    "by-flink": _draw_ratios("flink"),
    "by-duckdb": _draw_ratios("duckdb"),
    "kinds": _draw_kinds,
    "phases": _draw_phases,
}


if __name__ == "__main__":
    main()
