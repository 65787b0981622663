"""Fingerprint of everything that determines the meaning of a plan's state.

Text of a plan for its fingerprint, independent of the names of classes and fields in the code.

    Filter(Scan("clicks", ...), Column("n", BIGINT))
    Filter(input=Scan(table='clicks', ...), condition=Column(name='n', type=Integer(bits=64, signed=True), ...))

Every class has a tag that stays when the class or a field is renamed, because states outlive the code. Fields have tags
by position. A field that is added later has a default, and its tag is after a semicolon: it is only written if it
differs from the default, so that other plans keep their text. A field that is not compared is never written.

Operator names from hints in the script. Names are not part of equality, and equal branches of a plan are shared, so a
name in one of them applies to all.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, fields, replace
from datetime import date, datetime, timedelta
from decimal import Decimal

from engine import schema, types
from engine.plan import nodes
from engine.plan.expressions import expr
from engine.plan.nodes import (
    EventTimeOver,
    UpdatingAggregate,
    UpdatingJoin,
    UpdatingTop,
    WindowAggregate,
    Write,
    windowed,
)
from engine.plan.tree import Node, inputs_of, walk, with_inputs

UPDATING_FORMAT = 2
"""Format version of changelog operators' state. Raise it when that changes: the head of a shard, the columns of chunks,
the hash of keys, the number or the labels of shards."""
_MARK = "+"
_BUCKETED = UpdatingAggregate | UpdatingJoin | UpdatingTop | EventTimeOver


def fingerprint(writes: Sequence[Write], tables: Mapping[str, str]) -> str:
    """Return a text that is equal for equal plans over equal tables and differs for any others. Spelling, comments and
    layout of the script do not matter. `tables` describes each used table. If updating operators keep state, its format
    is part of the text."""
    parts = [stable_text(write) for write in writes] + [f"{name}={tables[name]}" for name in sorted(tables)]
    plain = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
    keeps_buckets = any(isinstance(node, _BUCKETED) for write in writes for node in walk(write))
    return f"{plain}{_MARK}{UPDATING_FORMAT}" if keeps_buckets else plain


def differ_in_format(before: str, after: str) -> bool:
    """Whether two different fingerprints are of the same plan, with its state in different formats."""
    return before != after and before.partition(_MARK)[0] == after.partition(_MARK)[0]


TAGS: Mapping[type, str] = {
    # relations
    nodes.Scan: "Scan(table, columns, event_time, watermark, is_changes)",
    nodes.Project: "Project(input, columns)",
    nodes.Filter: "Filter(input, condition)",
    nodes.Fused: "Fused(input, condition, columns)",
    nodes.Union: "Union(inputs)",
    nodes.Write: "Write(input, table)",
    nodes.Branch: "Branch(index, columns)",
    nodes.WindowJoin: "WindowJoin(left, right, kind, windows, equal, condition)",
    nodes.UpdatingJoin: "UpdatingJoin(left, right, kind, equal, condition, ttl; pin, formers)",
    nodes.LookupJoin: "LookupJoin(input, table, columns, kind, key)",
    nodes.UpdatingTop: "UpdatingTop(input, function, partition, order, number, limit, ttl; pin, formers)",
    nodes.EventTimeOver: "EventTimeOver(input, partition, order, functions, ttl; pin)",
    nodes.Over: "Over(input, window, functions)",
    nodes.Top: "Top(input, window, order, limit, offset)",
    nodes.Unnest: "Unnest(input, name, array)",
    nodes.WindowAggregate: "WindowAggregate(input, window, window_name, keys, aggregates; pin, by_pane)",
    nodes.ByPane: "ByPane(form, formerly, formers)",
    nodes.Partials: "Partials(input, condition, stretch, keys, columns, aggregates)",
    nodes.LateRows: "LateRows(input, window)",
    nodes.UpdatingAggregate: "UpdatingAggregate(input, keys, aggregates, ttl; began_as, form, pin, formerly, formers, "
    "retelling)",
    # what they are made of
    nodes.Retelling: "Retelling(id, passed, epoch)",
    nodes.Order: "Order(expr, descending, nulls_first)",
    nodes.Frame: "Frame(unit, start, end)",
    nodes.NamedOver: "NamedOver(name, function, arguments, partition, order, frame, type, nullable, ignore_nulls)",
    nodes.Tumble: "Tumble(width)",
    nodes.Hop: "Hop(slide, width)",
    nodes.Session: "Session(gap)",
    nodes.Period: "Period(months, length)",
    nodes.Calendar: "Calendar(slide, width, zone, offset)",
    nodes.Cumulate: "Cumulate(step, whole)",
    windowed.Carried: "Carried(column)",
    nodes.Pane: "Pane(width)",
    nodes.Burst: "Burst(gap)",
    nodes.Aggregate: "Aggregate(function, arguments, type, nullable, distinct, condition, order, takes)",
    nodes.NamedAggregate: "NamedAggregate(name, aggregate)",
    # scalar expressions
    expr.Column: "Column(name, type, nullable)",
    expr.Literal: "Literal(value, type)",
    expr.Call: "Call(function, arguments, type, nullable, when)",
    expr.Cast: "Cast(input, type, lenient)",
    expr.Case: "Case(branches, default, type)",
    expr.Member: "Member(input, name, type)",
    expr.Named: "Named(name, expr)",
    # schemas and types
    schema.Schema: "Schema(fields)",
    schema.Field: "Field(name, type, nullable)",
    types.Null: "Null()",
    types.Boolean: "Boolean()",
    types.Integer: "Integer(bits, signed)",
    types.Float: "Float(bits)",
    types.Decimal: "Decimal(precision, scale)",
    types.Text: "Text()",
    types.Bytes: "Bytes()",
    types.Json: "Json(is_part)",
    types.Timestamp: "Timestamp()",
    types.Date: "Date()",
    types.Interval: "Interval()",
    types.Member: "Member(name, type)",
    types.Struct: "Struct(members)",
    types.Array: "Array(element)",
}
_ATOMS = (bool, int, float, str, bytes, Decimal, datetime, date, timedelta)
_TAG = re.compile(r"(\w+)\(([^;]*)(?:; (.*))?\)")


@dataclass(frozen=True, slots=True)
class Tag:
    """Tags of a class and its fields; `later` are those that are omitted by default."""

    name: str
    fields: tuple[str, ...]
    later: tuple[str, ...]


def stable_text(value: object) -> str:
    """Return the text of a plan, an expression, a type, a schema, or a constant within one; TypeError for anything
    else."""
    match value:
        case tuple():
            inside = ", ".join(map(stable_text, value))
            return f"({inside},)" if len(value) == 1 else f"({inside})"
        case list():
            return f"[{', '.join(map(stable_text, value))}]"
    if value is None or isinstance(value, _ATOMS):
        return repr(value)
    tag = tag_of(type(value))
    return f"{tag.name}({', '.join(_members(value, tag))})"


def tag_of(kind: type) -> Tag:
    """Return the tag of a class; TypeError if it has none."""
    if kind not in TAGS:
        raise TypeError(f"{kind.__name__} has no tag")
    parts = _TAG.fullmatch(TAGS[kind])
    assert parts is not None, f"the tag of {kind.__name__} is misspelt"
    name, always, later = parts.groups(default="")
    return Tag(name, tuple(filter(None, always.split(", "))), tuple(filter(None, later.split(", "))))


def _members(value: object, tag: Tag) -> Iterator[str]:
    declared: tuple[Field[object], ...] = fields(value)  # type: ignore[arg-type]  # every class with a tag is a dataclass
    for name, field in zip((*tag.fields, *tag.later), declared, strict=True):
        content = getattr(value, field.name)
        if name in tag.fields or (field.compare and content != field.default):
            yield f"{name}={stable_text(content)}"


_STATEFUL = WindowAggregate | UpdatingAggregate | UpdatingJoin | UpdatingTop | EventTimeOver


def pins_of(nodes: Iterable[Node]) -> frozenset[str]:
    """Return all names in some trees."""
    return frozenset(
        part.pin for node in nodes for part in walk(node) if isinstance(part, _STATEFUL) and part.pin is not None
    )


def with_pins_of(node: Node, other: Node) -> Node:
    """Return the tree with the names of an equal one in places where it has none."""
    return _named(node, other) if pins_of([other]) else node


def _named(node: Node, other: Node) -> Node:
    pairs = zip(inputs_of(node), inputs_of(other), strict=True)
    named = with_inputs(node, [_named(below, equal) for below, equal in pairs])
    if isinstance(named, _STATEFUL) and isinstance(other, _STATEFUL) and named.pin is None:
        return replace(named, pin=other.pin)
    return named
