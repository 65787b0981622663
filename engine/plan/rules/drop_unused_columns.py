"""Columns that nobody asks for are not computed, and those of a source are not even decoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.plan.hidden import EVENT_TIME
from engine.plan.nodes import (
    Filter,
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
    as_they_are,
)
from engine.plan.nodes.joins import sides_read
from engine.plan.reads import read_by
from engine.plan.tree import Node, rewrite
from engine.schema import Schema


def drop_unused_columns(writes: Sequence[Write]) -> tuple[Write, ...]:
    """The same writes with scans and projections cut down to what is used above them. A table is decoded once for
    all its readers, so it keeps what any of them uses."""
    used: dict[str, set[str]] = {}
    cut = [replace(write, input=_keep(write.input, frozenset(write.schema.names), used)) for write in writes]
    return tuple(replace(write, input=rewrite(write.input, lambda node: _narrow(node, used))) for write in cut)


def _keep(node: Node, names: frozenset[str], used: dict[str, set[str]]) -> Node:
    match node:
        case Scan(table):
            used.setdefault(table, set()).update(names - {EVENT_TIME})
            return node
        case Project(source, columns):
            kept = tuple(item for item in columns if item.name in names)
            less_wide = Project(source, kept)
            return replace(less_wide, input=_keep(source, read_by(less_wide), used))
        case Filter(source) | Top(source):
            return replace(node, input=_keep(source, names | read_by(node), used))
        case Unnest(source, name):
            return replace(node, input=_keep(source, names - {name} | read_by(node), used))
        case Union(inputs):
            return Union(tuple(_keep(one, _by_position(node, one, names), used) for one in inputs))
        case WindowJoin(left, right) | UpdatingJoin(left, right):
            read = sides_read(node)
            kept_left, kept_right = (
                _keep(side, names & set(side.schema.names) | own, used)
                for side, own in zip((left, right), read, strict=True)
            )
            return replace(node, left=kept_left, right=kept_right)
        case Over(source, _, functions):
            fewer = replace(node, functions=tuple(one for one in functions if one.name in names))
            kept_input = _keep(source, names & set(source.schema.names) | read_by(fewer), used)
            return replace(fewer, input=kept_input) if fewer.functions else kept_input
        case UpdatingTop(source, number=number):
            below = names & set(source.schema.names) | read_by(node)
            kept_input = _only(_keep(source, below, used), below)
            return replace(node, input=kept_input, number=number if number in names else None)
        case LookupJoin(source, _, looked_up):
            wanted = tuple(field for field in looked_up if field.name in names) or looked_up.fields[:1]
            below = names & set(source.schema.names) | read_by(node)
            return replace(node, input=_keep(source, below, used), columns=Schema(wanted))
        case UpdatingAggregate(_, keys, aggregates):
            # the first one stays where there is no key, since without either nothing would be counted
            wanted_aggregates = tuple(one for one in aggregates if one.name in names) or aggregates[: 0 if keys else 1]
            less = replace(node, aggregates=wanted_aggregates)
            return replace(less, input=_keep(less.input, read_by(less), used))
        case WindowAggregate(source):
            return replace(node, input=_keep(source, read_by(node), used))
    return node


def _only(node: Node, names: frozenset[str]) -> Node:
    """The relation without columns that it has for other readers, so that they are not kept."""
    wanted = tuple(field for field in node.schema if field.name in names) or node.schema.fields[:1]
    if len(wanted) == len(node.schema):
        return node
    return Project(node, as_they_are(wanted))


def _by_position(union: Union, one: Node, names: frozenset[str]) -> frozenset[str]:
    pairs = zip(union.schema.names, one.schema.names, strict=True)
    return frozenset(own for shared, own in pairs if shared in names)


def _narrow(node: Node, used: dict[str, set[str]]) -> Node:
    if not isinstance(node, Scan):
        return node
    kept = tuple(field for field in node.columns if field.name in used[node.table])
    # a record without any column could not be counted, so the cheapest one stays
    return replace(node, columns=Schema(kept or node.columns.fields[:1]))
