"""Drop unused columns: they are not computed, and not decoded in a source.

    Write (name)                              Write (name)
      Project name, price * 2 AS twice    ->    Project name
        Filter price > 10                         Filter price > 10
          Scan (name, price, text)                  Scan (name, price)

From the top down, each node reports the columns of its inputs that it uses, in addition to those requested of it.
`used` collects the used columns of each table, since a table is decoded once for all its readers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.plan.nodes import (
    EventTimeOver,
    Filter,
    LateRows,
    LookupJoin,
    Over,
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
    pass_through,
)
from engine.plan.nodes.joins import sides_read
from engine.plan.placement.reads import read_by
from engine.plan.tree import EVENT_TIME, Node, rewrite
from engine.schema import Schema


def drop_unused_columns(writes: Sequence[Write]) -> tuple[Write, ...]:
    """Remove the columns of scans and projections that are not used above them. A table is decoded once for all its
    readers, so it keeps every column that any of them uses."""
    used: dict[str, set[str]] = {}
    cut = [replace(write, input=_cut(write.input, frozenset(write.schema.names), used)) for write in writes]
    return tuple(replace(write, input=rewrite(write.input, lambda node: _narrow(node, used))) for write in cut)


def _cut(node: Node, names: frozenset[str], used: dict[str, set[str]]) -> Node:
    match node:
        case Scan(table):
            used.setdefault(table, set()).update(names - {EVENT_TIME})
            return node
        case Project(source, columns):
            narrow = Project(source, tuple(named for named in columns if named.name in names))
            return replace(narrow, input=_cut(source, read_by(narrow), used))
        case Filter(source) | Top(source):
            return replace(node, input=_cut(source, names | read_by(node), used))
        case LateRows(source):
            return replace(node, input=_cut(source, names & set(source.schema.names), used))
        case Unnest(source, name):
            return replace(node, input=_cut(source, names - {name} | read_by(node), used))
        case Union(inputs):
            return Union(tuple(_cut(part, _by_position(node, part, names), used) for part in inputs))
        case WindowJoin() | UpdatingJoin():
            left_read, right_read = sides_read(node)
            left = _cut(node.left, names & set(node.left.schema.names) | left_read, used)
            right = _cut(node.right, names & set(node.right.schema.names) | right_read, used)
            return replace(node, left=left, right=right)
        case Over():
            return _cut_over(node, names, used)
        case EventTimeOver():
            return _cut_event_time_over(node, names, used)
        case UpdatingTop(source, number=number):
            below = names & set(source.schema.names) | read_by(node)
            cut_input = _without_others(_cut(source, below, used), below)
            return replace(node, input=cut_input, number=number if number in names else None)
        case LookupJoin(source, _, looked_up):
            fields = tuple(field for field in looked_up if field.name in names) or looked_up.fields[:1]
            below = names & set(source.schema.names) | read_by(node)
            return replace(node, input=_cut(source, below, used), columns=Schema(fields))
        case UpdatingAggregate():
            return _cut_updating_aggregate(node, names, used)
        case WindowAggregate(source):
            return replace(node, input=_cut(source, read_by(node), used))
    raise TypeError(type(node).__name__)


def _cut_over(node: Over, names: frozenset[str], used: dict[str, set[str]]) -> Node:
    fewer = replace(node, functions=tuple(function for function in node.functions if function.name in names))
    cut_input = _cut(node.input, names & set(node.input.schema.names) | read_by(fewer), used)
    return replace(fewer, input=cut_input) if fewer.functions else cut_input


def _cut_event_time_over(node: EventTimeOver, names: frozenset[str], used: dict[str, set[str]]) -> Node:
    """Cut the node, which stays without functions, too: it decides which rows are late."""
    fewer = replace(node, functions=tuple(function for function in node.functions if function.name in names))
    below = names & set(node.input.schema.names) | read_by(fewer)
    return replace(fewer, input=_without_others(_cut(node.input, below, used), below))


def _cut_updating_aggregate(node: UpdatingAggregate, names: frozenset[str], used: dict[str, set[str]]) -> Node:
    aggregates = tuple(named for named in node.aggregates if named.name in names)
    if not aggregates and not node.keys:
        # without either nothing would be counted
        aggregates = node.aggregates[:1]
    fewer = replace(node, aggregates=aggregates)
    return replace(fewer, input=_cut(node.input, read_by(fewer), used))


def _without_others(node: Node, names: frozenset[str]) -> Node:
    """Return the relation without the columns for other readers, so that they are not stored."""
    fields = tuple(field for field in node.schema if field.name in names) or node.schema.fields[:1]
    if len(fields) == len(node.schema):
        return node
    return Project(node, pass_through(fields))


def _by_position(union: Union, part: Node, names: frozenset[str]) -> frozenset[str]:
    pairs = zip(union.schema.names, part.schema.names, strict=True)
    return frozenset(name for shared, name in pairs if shared in names)


def _narrow(node: Node, used: dict[str, set[str]]) -> Node:
    if not isinstance(node, Scan):
        return node
    fields = tuple(field for field in node.columns if field.name in used[node.table])
    # a record without any column could not be counted, so the cheapest one stays
    return replace(node, columns=Schema(fields or node.columns.fields[:1]))
