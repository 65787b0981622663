"""Convert plan nodes to DataFrames. The modules mirror engine.plan.nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from pyspark.sql import DataFrame

from engine.connectors.base import Table
from engine.plan.nodes import (
    Branch,
    EventTimeOver,
    Filter,
    Fused,
    LateRows,
    LookupJoin,
    Over,
    Partials,
    Project,
    Scan,
    Top,
    Union,
    Unnest,
    UpdatingAggregate,
    UpdatingJoin,
    UpdatingTop,
    WindowAggregate,
    WindowJoin,
    Write,
)
from engine.plan.placement.whole import leading_rows
from engine.plan.tree import Node, walk
from engine.spark.lower.event_time_over import lower_event_time_over
from engine.spark.lower.joins import lower_window_join
from engine.spark.lower.lookup import lower_lookup_join
from engine.spark.lower.over import lower_leading, lower_over, lower_top
from engine.spark.lower.rows import lower_filter, lower_project, lower_scan, lower_union
from engine.spark.lower.unnest import lower_unnest
from engine.spark.lower.updating import lower_updating_aggregate, lower_updating_join
from engine.spark.lower.updating_ranking import lower_updating_top
from engine.spark.lower.windowed import lower_late_rows, lower_window_aggregate
from engine.udf.declared import NO_UDFS, Udfs


@dataclass(frozen=True, slots=True)
class Lowering:
    """Converts plans to DataFrames. `tables` are the opened source tables, `branches` the rows that the stream part
    emitted, `lookups` the lookup tables, and `udfs` the user-defined functions. `late` returns a new metric name for
    each count of late rows; it is None in the epoch part."""

    tables: Mapping[str, DataFrame]
    branches: Sequence[DataFrame]
    late: Callable[[Node], str] | None
    lookups: Mapping[str, Table]
    udfs: Udfs = NO_UDFS

    def lower(self, node: Node) -> DataFrame:
        """Return the frame of a relation: the columns of its schema, then the hidden ones."""
        match node:
            case Scan(table):
                return lower_scan(node, self.tables[table])
            case Fused(scan) | Partials(scan):
                return lower_scan(node, self.tables[scan.table])
            case Branch(index):
                return self.branches[index]
            case Filter():
                return lower_filter(node, self._below_filter(node), is_streamed=self.late is not None)
            case Project(source):
                return lower_project(node, self.lower(source))
            case Unnest(source):
                return lower_unnest(node, self.lower(source))
            case LookupJoin(source, table):
                return lower_lookup_join(node, self.lower(source), self.lookups[table])
            case Union(inputs):
                return lower_union(node, [self.lower(part) for part in inputs])
            case LateRows(source):
                return lower_late_rows(node, self.lower(source))
            case WindowAggregate(source):
                return lower_window_aggregate(node, self.lower(source), self.late(source) if self.late else None)
            case WindowJoin(left, right):
                return lower_window_join(node, self.lower(left), self.lower(right))
            case UpdatingAggregate(source):
                return lower_updating_aggregate(node, self.lower(source), self.udfs)
            case UpdatingJoin(left, right):
                return lower_updating_join(node, self.lower(left), self.lower(right))
            case UpdatingTop(source):
                return lower_updating_top(node, self.lower(source))
            case EventTimeOver(source):
                return lower_event_time_over(node, self.lower(source), self.late(source) if self.late else None)
            case Over(source):
                return lower_over(node, self.lower(source))
            case Top(source):
                return lower_top(node, self.lower(source))
            case Write(source):
                return self.lower(source)
        raise TypeError(type(node).__name__)

    def _below_filter(self, node: Filter) -> DataFrame:
        """Lower the input of a filter. If a ranking's first places suffice, it sorts no other rows."""
        ranked = leading_rows(node)
        if ranked is None:
            return self.lower(node.input)
        over, leading = ranked
        frame = lower_over(over, lower_leading(leading, self.lower(over.input)))
        return self._up_to(node.input, over, frame)

    def _up_to(self, node: Node, below: Node, frame: DataFrame) -> DataFrame:
        """Apply the projections above a relation to its frame."""
        if node is below:
            return frame
        assert isinstance(node, Project), node
        return lower_project(node, self._up_to(node.input, below, frame))


def stream_lowering(tables: Mapping[str, DataFrame], lookups: Mapping[str, Table], udfs: Udfs) -> Lowering:
    """Return the lowering of the stream part."""
    numbers = count()

    def name_late_rows(rows: Node) -> str:
        """Return a number for late rows, and their table if they are of a single one."""
        sources = {node.table for node in walk(rows) if isinstance(node, Scan)}
        return " ".join([f"late{next(numbers)}", *(sources if len(sources) == 1 else ())])

    return Lowering(tables, (), name_late_rows, lookups, udfs)


def epoch_lowering(branches: Sequence[DataFrame], lookups: Mapping[str, Table]) -> Lowering:
    """Return the lowering of the epoch part."""
    return Lowering({}, branches, None, lookups)
