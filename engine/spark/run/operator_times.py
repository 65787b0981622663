"""Rows and busy time of each part of a plan in an epoch, from what Spark counted.

`arroyo.OperatorTimes` prints the executed plan of the stream part, a node a line, below the node that it feeds:

    0 StateStoreSave numOutputRows=4 allUpdatesTimeMs=24 allRemovalsTimeMs=12 commitTimeMs=1
    1 HashAggregate numOutputRows=2
    2 Exchange
    3 WholeStageCodegen pipelineTime=127
    4 HashAggregate numOutputRows=2
    5 Filter numOutputRows=14535
    6 MicroBatchScan tasks=1 numOutputRows=21804

The stateful operator worked for 24 + 12 + 1 ms, which includes reading its shuffled input, and got 14,535 rows. The
tasks of the source worked for 127 ms: all that they do up to the shuffle counts, since Spark runs it in one loop. What
Spark did not measure is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from engine.plan.nodes import Partials, Scan
from engine.plan.placement.split import Parts
from engine.plan.state.operators import is_stateful
from engine.plan.tree import Node, walk

_SHUFFLE = "Exchange"
_PACKS = "TransformWithState"
"""The operators over changelog rows, which emit batches of them as single rows."""
_STATE_TIMES = ("allUpdatesTimeMs", "allRemovalsTimeMs", "commitTimeMs")
_ONE_TO_ONE = frozenset(
    {
        "WholeStageCodegen",
        "InputAdapter",
        "Project",
        "CollectMetrics",
        "EventTimeWatermark",
        "ArrowEvalPython",
        "BatchEvalPython",
        "ColumnarToRow",
        "Coalesce",
    }
)
"""Nodes that give as many rows as they get."""
_OF_THE_OPERATOR = frozenset(
    {
        _SHUFFLE,
        "Sort",
        "HashAggregate",
        "ObjectHashAggregate",
        "SortAggregate",
        "MergingSessions",
        "UpdatingSessions",
        "StateStoreRestore",
        "SessionWindowStateStoreRestore",
        "MapInArrow",
        "Expand",
    }
)
"""Nodes that prepare the rows of a stateful operator: what goes into the lowest of them is its input."""


@dataclass(frozen=True, slots=True)
class SparkNode:
    """A node of an executed plan, with what it counted."""

    name: str
    counts: Mapping[str, int]
    inputs: list[SparkNode] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Work:
    """Rows that a part of the plan got and gave, and the time that its tasks worked, all together. `tasks` is the
    number of tasks if it is not the parallelism of the run."""

    rows_in: int | None = None
    rows_out: int | None = None
    time: timedelta | None = None
    tasks: int | None = None


@dataclass(frozen=True, slots=True)
class PlanWork:
    """Work of an epoch's stream part: of each stateful operator by id, and of the tasks of each source table."""

    operators: Mapping[str, Work] = field(default_factory=dict)
    sources: Mapping[str, Work] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlanReader:
    """Reads the executed plans of a program. `operators` are its stateful operators in the order of Spark's numbers,
    each with whether source tasks merge rows for it; `tables` are what Spark reads, in the order of its plan."""

    operators: Sequence[tuple[str, bool]]
    tables: Sequence[str]

    @classmethod
    def of(cls, operators: Sequence[str], parts: Parts) -> PlanReader:
        """Make a reader from the ids of the operators, and the parts as they run."""
        merged = [_is_merged_below(node) for node in _stateful_of(parts)]
        known = zip(operators, merged, strict=True) if len(merged) == len(operators) else ()
        return cls(tuple(known), tuple(_tables_of(parts)))

    def read(self, text: str) -> PlanWork:
        """Return the work of an epoch; what cannot be matched is left out."""
        plan = _tree(text)
        if plan is None:
            return PlanWork()
        stateful = list(_stateful_in(plan, None))
        pairs = zip(self.operators, stateful, strict=True) if len(stateful) == len(self.operators) else ()
        works = {name: _work_of_operator(*found, is_merged=is_merged) for (name, is_merged), found in pairs}
        return PlanWork(works, _work_of_sources(plan, self.tables))


NO_PLANS = PlanReader((), ())
"""Reads nothing from any plan."""


def plan_text(spark: SparkSession, query: StreamingQuery, epoch: int) -> str:
    """Return the executed plan of an epoch whose tasks have ended; nothing if Spark has another by now."""
    assert spark._jvm is not None  # noqa: SLF001 - pyspark has no other way to Java
    return str(spark._jvm.arroyo.OperatorTimes.of(query._jsq, epoch))  # noqa: SLF001


def busy_share(work: Work, between: timedelta, parallelism: int) -> float | None:
    """Return the share of the time between two commits that the tasks worked, from 0 to 1; None if unknown."""
    tasks = min(work.tasks or parallelism, parallelism)
    if work.time is None or between <= timedelta(0):
        return None
    return round(min(1.0, work.time / (between * tasks)), 3)


def _tree(text: str) -> SparkNode | None:
    path: list[SparkNode] = []
    for line in text.splitlines():
        depth, name, *counts = line.split(" ")
        pairs = (count.partition("=") for count in counts)
        node = SparkNode(name, {key: int(value) for key, _, value in pairs})
        del path[int(depth) :]
        if path:
            path[-1].inputs.append(node)
        path.append(node)
    return path[0] if path else None


def _stateful_in(node: SparkNode, reader: SparkNode | None) -> Iterator[tuple[SparkNode, SparkNode | None]]:
    """Yield the stateful nodes, each with the next node above that is not one to one."""
    if _is_stateful(node):
        yield node, reader
    above = reader if node.name in _ONE_TO_ONE else node
    for below in node.inputs:
        yield from _stateful_in(below, above)


def _is_stateful(node: SparkNode) -> bool:
    return "allUpdatesTimeMs" in node.counts


def _work_of_operator(node: SparkNode, reader: SparkNode | None, *, is_merged: bool) -> Work:
    spent = sum(node.counts.get(name, 0) for name in _STATE_TIMES)
    rows_in = None if is_merged else _total(_rows_into(below) for below in node.inputs)
    rows_out = node.counts.get("numOutputRows")
    if node.name.startswith(_PACKS):
        rows_out = None if reader is None else _unpacked(reader)
    return Work(rows_in, rows_out, timedelta(milliseconds=spent))


def _unpacked(node: SparkNode) -> int | None:
    """Return how many rows a node unpacks of what an operator over changelog rows emits as batches."""
    return node.counts.get("pythonNumRowsReceived") if node.name == "MapInArrow" else None


def _reads_packed(node: SparkNode) -> bool:
    while node.name in _ONE_TO_ONE and len(node.inputs) == 1:
        node = node.inputs[0]
    return node.name.startswith(_PACKS)


def _rows_into(node: SparkNode) -> int | None:
    """Return how many rows went into the lowest node that prepares rows for the operator above; None if unknown."""
    if node.name == "PlanLater":
        return 0
    if node.name == "Union":
        return _total(map(_rows_into, node.inputs))
    below = node.inputs[0] if len(node.inputs) == 1 else None
    if below is not None and node.name == "MapInArrow" and _reads_packed(below):
        return _unpacked(node)
    if below is not None and (node.name in _OF_THE_OPERATOR or node.name in _ONE_TO_ONE or _expands(below)):
        return _rows_into(below)
    return node.counts.get("numOutputRows")


def _expands(node: SparkNode) -> bool:
    """Whether rows are repeated below, for the windows that they are in, before they come here."""
    while len(node.inputs) == 1 and node.name != _SHUFFLE and not _is_stateful(node):
        if node.name == "Expand":
            return True
        node = node.inputs[0]
    return False


def _work_of_sources(plan: SparkNode, tables: Sequence[str]) -> Mapping[str, Work]:
    paths = list(_scan_paths(plan, ()))
    if len(tables) != len(paths):
        return {}
    works: dict[str, list[Work]] = {}
    for table, path in zip(tables, paths, strict=True):
        times = [node.counts["pipelineTime"] for node in path if "pipelineTime" in node.counts]
        time = timedelta(milliseconds=max(times)) if times else None
        works.setdefault(table, []).append(Work(time=time, tasks=path[-1].counts["tasks"]))
    return {table: _added(those) for table, those in works.items()}


def _scan_paths(node: SparkNode, above: tuple[SparkNode, ...]) -> Iterator[tuple[SparkNode, ...]]:
    """Yield the nodes that the tasks of each scan run, from the top to the scan."""
    if node.name == _SHUFFLE or _is_stateful(node):
        above = ()
    path = (*above, node)
    if "tasks" in node.counts:
        yield path
    for below in node.inputs:
        yield from _scan_paths(below, () if _is_stateful(node) else path)


def _added(works: Sequence[Work]) -> Work:
    times = [work.time for work in works if work.time is not None]
    tasks = sum(work.tasks or 0 for work in works)
    return Work(time=sum(times, timedelta(0)) if len(times) == len(works) else None, tasks=tasks)


def _tables_of(parts: Parts) -> Iterator[str]:
    for branch in parts.branches:
        for node in walk(branch):
            if isinstance(node, Scan):
                yield node.table


def _stateful_of(parts: Parts) -> Iterator[Node]:
    return (node for branch in parts.branches for node in walk(branch) if is_stateful(node))


def _is_merged_below(node: Node) -> bool:
    """Whether source tasks merge rows for the operator, so that Spark does not know their number."""
    return any(isinstance(below, Partials) for below in walk(node))


def _total(counts: Iterable[int | None]) -> int | None:
    known = list(counts)
    return None if None in known else sum(count for count in known if count is not None)
