"""Whether late rows of what a sink is made of go anywhere, read off the graph of a plan as it is stored.

Write counts <- WindowAggregate <- Scan clicks
Write late   <- LateRows        <- Scan clicks       those of counts, too, since both read clicks
Write copy   <- Scan orders                          nothing is known of its late rows
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from engine.jobs.decisions.plan_picture import table_of


def takes_late_rows(graph: str | None, table: str | None) -> bool:
    """Whether there is a table for late rows of a sink, or of any with None."""
    content = json.loads(graph or "{}")
    nodes: Mapping[int, Mapping[str, str]] = {node["node_id"]: node for node in content.get("nodes", ())}
    below: dict[int, list[int]] = {}
    for edge in content.get("edges", ()):
        below.setdefault(edge["dest_id"], []).append(edge["src_id"])
    late = [number for number, node in nodes.items() if node["operator"] == "LateRows"]
    if table is None:
        return bool(late)
    sources = {scan for number in late for scan in _scans(number, nodes, below)}
    sinks = [number for number, node in nodes.items() if node["operator"] == "Write" and table_of(node) == table]
    return any(scan in sources for number in sinks for scan in _scans(number, nodes, below))


def _scans(top: int, nodes: Mapping[int, Mapping[str, str]], below: Mapping[int, Sequence[int]]) -> Iterator[str]:
    """The names of the tables that a node reads."""
    todo, seen = [top], set[int]()
    while todo:
        number = todo.pop()
        if number not in seen:
            seen.add(number)
            todo += below.get(number, ())
            if nodes[number]["operator"] == "Scan" and (table := table_of(nodes[number])) is not None:
                yield table
