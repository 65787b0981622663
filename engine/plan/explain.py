"""Render a plan: as text, as JSON, or as a graph."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from engine.plan.expressions.expr import Call, Case, Cast, Column, Expr, Member
from engine.plan.expressions.expr import Literal as Constant
from engine.plan.nodes import (
    Aggregate,
    Branch,
    Burst,
    Calendar,
    Carried,
    Cumulate,
    EventTimeOver,
    Filter,
    Frame,
    Fused,
    Hop,
    LateRows,
    LookupJoin,
    NamedAggregate,
    NamedOver,
    Order,
    Over,
    Pane,
    Partials,
    Period,
    Project,
    Scan,
    Session,
    Top,
    Tumble,
    Union,
    Unnest,
    UpdatingAggregate,
    UpdatingJoin,
    UpdatingTop,
    Window,
    WindowAggregate,
    WindowJoin,
    Write,
)
from engine.plan.placement.split import Parts
from engine.plan.state.retained_state import retained_states, spell, state_of
from engine.plan.tree import Node, inputs_of

Format = Literal["text", "json", "dot"]


def explain(
    parts: Parts, form: Format = "text", *, is_whole: bool = False, in_one_task: bool = False, ids: Sequence[str] = ()
) -> str:
    """Return the two halves of a plan, the top of each tree first; `is_whole` if the source's tasks run everything,
    `in_one_task` if one task runs the epoch part. `ids` are those of the stateful operators, in the order of their
    numbers; without them none are shown."""
    match form:
        case "text":
            return "".join(f"{line}\n" for line in _text(parts, is_whole=is_whole, in_one_task=in_one_task, ids=ids))
        case "json":
            return json.dumps(to_graph(parts, ids), indent=2) + "\n"
        case "dot":
            return _dot(parts)


def explain_state(parts: Parts, ids: Sequence[str] = ()) -> str:
    """List the state that is kept between epochs and for how long, a line for each stateful operator."""
    states = retained_states(parts)
    names = _names([node for _, node, _ in states], ids)
    lines = [
        f"  branch {branch}, {type(node).__name__}{_with_id(name)}: {state}\n"
        for (branch, node, state), name in zip(states, names, strict=True)
    ]
    return "kept between epochs\n" + "".join(lines or ["  nothing but how far the sources were read\n"])


def describe(node: Node) -> str:
    """Describe one node in a line."""
    match node:
        case Scan():
            return _scan(node)
        case Branch(index):
            return f"Branch {index}"
        case Project(_, columns):
            return f"Project {', '.join(_with_name(named.name, show(named.expr)) for named in columns)}"
        case Filter(_, condition):
            return f"Filter {show(condition)}"
        case Fused(_, condition, columns):
            return f"In the source's task: Filter {show(condition)}, columns ({', '.join(columns.names)})"
        case Partials(condition=condition, columns=columns):
            chosen = "" if condition is None else f"Filter {show(condition)}, "
            return f"In the source's task: {chosen}{_partials(node)}, columns ({', '.join(columns.names)})"
        case Union(inputs):
            return f"Union of {len(inputs)}"
        case Unnest(_, name, array):
            return f"Unnest {_with_name(name, show(array))}"
        case LateRows(_, window):
            return f"LateRows of {_window(window)}"
        case WindowAggregate(_, window, _, keys, aggregates):
            by = ", ".join([_window(window), *(show(key.expr) for key in keys)])
            kept = "state" if node.by_pane is None else "panes"
            state = f", keeps {kept} until the window closes" if node.is_incremental else ", within an epoch"
            return f"WindowAggregate {_aggregates(aggregates)} by {by}{state}"
        case WindowJoin(kind=kind, windows=windows):
            same = "the event time" if windows is None else f"the window {windows[0]} = {windows[1]}"
            return f"WindowJoin {kind} by {' and '.join([same, *_conditions(node)])}, within an epoch"
        case UpdatingJoin(kind=kind, ttl=ttl):
            state = f"keeps both sides for {spell(ttl)} after their last change"
            return f"UpdatingJoin {kind} by {' and '.join(_conditions(node))}, {state}"
        case Over(_, window, functions):
            return f"Over {window}: {'; '.join(over_name(function) for function in functions)}, within an epoch"
        case EventTimeOver():
            return _event_time_over(node)
        case Top():
            return _top(node)
        case LookupJoin(_, table, columns, kind, key):
            return f"LookupJoin {kind} {table} ({', '.join(columns.names)}) by {show(key)}"
        case UpdatingAggregate(_, keys, aggregates, ttl):
            by = f" by {', '.join(show(key.expr) for key in keys)}" if keys else ""
            state = f"keeps each row for {spell(ttl)} after its last change"
            return f"UpdatingAggregate {_aggregates(aggregates)}{by}, {state}"
        case UpdatingTop():
            return _updating_top(node)
        case Write(_, table):
            return f"Write {table}"
    raise AssertionError(type(node).__name__)


def grouping(node: Node) -> str:
    """Describe how a node groups rows, and by which keys, without its aggregates."""
    match node:
        case WindowAggregate(_, window, _, keys):
            return _by(_window(window), [key.expr for key in keys])
        case UpdatingAggregate(_, keys):
            return _by("GROUP", [key.expr for key in keys])
        case UpdatingTop(_, _, partition):
            return _by("ranking", partition)
        case EventTimeOver(_, partition):
            return _by("over", partition)
        case UpdatingJoin(kind=kind):
            return f"{kind} join by {' and '.join(_conditions(node))}"
    raise AssertionError(type(node).__name__)


def _by(kind: str, keys: Sequence[Expr]) -> str:
    return f"{kind} by {', '.join(map(show, keys))}" if keys else kind


def _scan(scan: Scan) -> str:
    times = "" if scan.event_time is None else f", event time {show(scan.event_time)}"
    table = f"{'changes of ' if scan.is_changes else ''}{scan.table}"
    return f"Scan {table} ({', '.join(scan.columns.names)}){times}, watermark {show(scan.watermark)}"


def _top(top: Top) -> str:
    count = "all rows" if top.limit is None else f"{top.limit} rows"
    skipped = f" after {top.offset}" if top.offset else ""
    return f"Top {count}{skipped} of each {top.window} by {orders(top.order)}, within an epoch"


def _updating_top(top: UpdatingTop) -> str:
    some = "all rows" if top.limit is None else f"{top.limit} row{'s' * (top.limit > 1)}"
    per_partition = f" of each {', '.join(map(show, top.partition))}" if top.partition else ""
    shown = f" as {top.number}" if top.number else ""
    by = f" by {orders(top.order)}" if top.order else ""
    state = f"keeps them for {spell(top.ttl)} after its last change"
    return f"UpdatingTop {some}{per_partition}{by}, {top.function}{shown}, {state}"


def _event_time_over(node: EventTimeOver) -> str:
    by = f" by {', '.join(map(show, node.partition))}" if node.partition else ""
    then = f", then {orders(node.order)}" if node.order else ""
    calls = "; ".join(over_name(function) for function in node.functions)
    state = f"keeps rows until the watermark passes them, and what frames reach, for {spell(node.ttl)} after the last"
    return f"EventTimeOver{by} in event time{then}: {calls}, {state}"


def aggregate_name(aggregate: Aggregate) -> str:
    """Return an aggregate in SQL."""
    inside = ", ".join(show(argument) for argument in aggregate.arguments) or "*"
    distinct = "DISTINCT " if aggregate.distinct else ""
    condition = "" if aggregate.condition is None else f" FILTER {show(aggregate.condition)}"
    order = f" ORDER BY {orders(aggregate.order)}" if aggregate.order else ""
    return f"{aggregate.function}({distinct}{inside}{order}){condition}"


def orders(order: Sequence[Order]) -> str:
    """Return an order in SQL."""
    return ", ".join(
        f"{show(key.expr)}{' DESC' * key.descending} NULLS {'FIRST' if key.nulls_first else 'LAST'}" for key in order
    )


def _aggregates(aggregates: Iterable[NamedAggregate]) -> str:
    return ", ".join(aggregate_name(named.aggregate) for named in aggregates) or "distinct"


def show(expr: Expr) -> str:
    """Return an expression in SQL."""
    match expr:
        case Column(name):
            return name
        case Constant():
            return _show_constant(expr)
        case Call(function, arguments):
            inside = [show(argument) for argument in arguments]
            if not function[0].isalpha() or function in ("and", "or"):
                return f"({f' {function} '.join(inside)})"
            return f"{function}({', '.join(inside)})"
        case Cast(inner, kind, lenient):
            return f"{'TRY_' * lenient}CAST({show(inner)} AS {kind})"
        case Case(branches, default):
            tests = " ".join(f"WHEN {show(test)} THEN {show(value)}" for test, value in branches)
            return f"CASE {tests}{'' if default is None else f' ELSE {show(default)}'} END"
        case Member(inner, name):
            return f"{show(inner)}.{name}"


def _show_constant(constant: Constant) -> str:
    match constant.value:
        case None:
            return "NULL"
        case timedelta() as length:
            return _interval(length)
        case str(text):
            return f"'{text}'"
    return str(constant.value)


@dataclass(frozen=True, slots=True)
class _Vertex:
    number: int
    part: str
    node: Node
    above: int | None


def to_graph(parts: Parts, ids: Sequence[str] = ()) -> dict[str, list[dict[str, object]]]:
    """Return nodes and edges, for drawing. Stateful operators have their id, if `ids` has it."""
    vertices = list(_vertices(parts))
    names = _names([vertex.node for vertex in vertices], ids)
    nodes: list[dict[str, object]] = [
        {
            "node_id": vertex.number,
            "operator": type(vertex.node).__name__,
            "description": describe(vertex.node),
            "part": vertex.part,
            "state": state_of(vertex.node),
            "operator_id": name,
            "parallelism": 1,
        }
        for vertex, name in zip(vertices, names, strict=True)
    ]
    tops = {
        int(vertex.part.split()[1]): vertex.number
        for vertex in vertices
        if vertex.above is None and vertex.part != "epoch"
    }
    edges = [_edge(vertex.number, vertex.above, "forward") for vertex in vertices if vertex.above is not None]
    edges += [
        _edge(tops[vertex.node.index], vertex.number, "epoch") for vertex in vertices if isinstance(vertex.node, Branch)
    ]
    return {"nodes": nodes, "edges": edges}


def _edge(source: int, target: int, kind: str) -> dict[str, object]:
    return {"src_id": source, "dest_id": target, "edge_type": kind}


def _vertices(parts: Parts) -> Iterator[_Vertex]:
    trees = [
        *((f"branch {index}", node) for index, node in enumerate(parts.branches)),
        *(("epoch", write) for write in parts.writes),
    ]
    number = 0
    for part, top in trees:
        todo: list[tuple[Node, int | None]] = [(top, None)]
        while todo:
            node, above = todo.pop()
            yield _Vertex(number, part, node, above)
            todo.extend((below, number) for below in reversed(inputs_of(node)))
            number += 1


def _text(parts: Parts, *, is_whole: bool, in_one_task: bool, ids: Sequence[str]) -> Iterator[str]:
    names = iter(ids)
    where = ", in one task where Spark is on one machine" * in_one_task
    yield f"epoch part, once per epoch over what the stream part released{where}"
    for write in parts.writes:
        yield from _tree(write, 1, names)
    for index, branch in enumerate(parts.branches):
        yield f"stream part, branch {index}{', read, computed and written in the task of the source' * is_whole}"
        yield from _tree(branch, 1, names)


def _tree(node: Node, depth: int, names: Iterator[str]) -> Iterator[str]:
    yield f"{'  ' * depth}{describe(node)}{_with_id(next(names, None) if state_of(node) else None)}"
    for below in inputs_of(node):
        yield from _tree(below, depth + 1, names)


def _names(nodes: Iterable[Node], ids: Sequence[str]) -> list[str | None]:
    """Return the ids of the stateful nodes, in the order of their numbers; None for all others."""
    names = iter(ids)
    return [next(names, None) if state_of(node) else None for node in nodes]


def _with_id(name: str | None) -> str:
    return "" if name is None else f" [{name}]"


def _dot(parts: Parts) -> str:
    graph = to_graph(parts)
    lines = ["digraph plan {", "  node [shape=box];"]
    lines += [
        f"  n{node['node_id']} [label={json.dumps(node['description'], ensure_ascii=False)}];"
        for node in graph["nodes"]
    ]
    for edge in graph["edges"]:
        style = " [style=dashed]" if edge["edge_type"] == "epoch" else ""
        lines.append(f"  n{edge['src_id']} -> n{edge['dest_id']}{style};")
    return "\n".join([*lines, "}"]) + "\n"


def _with_name(name: str, text: str) -> str:
    return text if text == name else f"{text} AS {name}"


def _partials(node: Partials) -> str:
    results = ", ".join(["count(*)", *(aggregate_name(named.aggregate) for named in node.aggregates)])
    by = ", ".join([*_stretch(node.stretch), *map(show, node.keys)])
    return f"partial {results}" + (f" by {by}" if by else "")


def _stretch(stretch: Pane | Burst | None) -> tuple[str, ...]:
    match stretch:
        case Pane(width):
            return (f"panes of {_interval(width)}",)
        case Burst(gap):
            return (f"bursts with gaps below {_interval(gap)}",)
    return ()


def over_name(call: NamedOver) -> str:
    """Return a function with OVER as a person would write it."""
    by = f" PARTITION BY {', '.join(map(show, call.partition))}" if call.partition else ""
    order = f" ORDER BY {orders(call.order)}" if call.order else ""
    frame = "" if call.frame is None else f" {_frame(call.frame)}"
    inside = ", ".join(show(argument) for argument in call.arguments)
    nulls = " IGNORE NULLS" * call.ignore_nulls
    return f"{call.function}({inside}){nulls}{by}{order}{frame}"


def _frame(frame: Frame) -> str:
    if frame.unit == "range" and (frame.start or frame.end):
        before, after = (_interval(timedelta(microseconds=abs(bound or 0))) for bound in (frame.start, frame.end))
        before = "UNBOUNDED" if frame.start is None else before
        return f"RANGE BETWEEN {before} PRECEDING AND {after} FOLLOWING" if frame.end else f"RANGE {before}"
    bounds = ["UNBOUNDED" if bound is None else str(bound) for bound in (frame.start, frame.end)]
    return f"{frame.unit.upper()} BETWEEN {bounds[0]} AND {bounds[1]}"


def _conditions(join: WindowJoin | UpdatingJoin) -> list[str]:
    condition = [] if join.condition is None else [show(join.condition)]
    return [*(f"{show(left)} = {show(right)}" for left, right in join.equal), *condition]


def _interval(length: timedelta) -> str:
    return f"INTERVAL '{spell(length)}'"


def describe_calendar(window: Calendar | Cumulate) -> str:
    """Return such a window as a user would write it."""
    if isinstance(window, Cumulate):
        whole, name, lengths = window.whole, "cumulate", [_interval(window.step)]
    else:
        whole, name = window, "tumble" if window.slide == window.width else "hop"
        lengths = [] if window.slide == window.width else [_period(window.slide)]
    if isinstance(whole, Tumble):
        return f"{name}({', '.join([*lengths, _interval(whole.width)])})"
    zone = [f"'{whole.zone}'"] if whole.zone != "UTC" else []
    offset = [_interval(whole.offset)] if whole.offset else []
    return f"{name}({', '.join([*lengths, _period(whole.width), *zone, *offset])})"


def _period(period: Period) -> str:
    if not period.months:
        return _interval(period.length)
    return f"INTERVAL '{period.months} month{'s' * (period.months > 1)}'"


def _window(window: Window) -> str:
    match window:
        case Tumble(width):
            return f"tumble({_interval(width)})"
        case Hop(slide, width):
            return f"hop({_interval(slide)}, {_interval(width)})"
        case Session(gap):
            return f"session({_interval(gap)})"
        case Calendar() | Cumulate():
            return describe_calendar(window)
        case Carried(column):
            return f"the window {column}"
