"""Decide whether the state of an aggregation can be used with other aggregates, and how.

    before    count(*), min(price)             stores count, min
    after     count(*), sum(price), max(n)     stores count, sum, max     <- 0, null, null

The value of a new aggregate is unknown in windows that are open during the change. Such windows show NULL for it, or
are suppressed. So the aggregate may be written to a sink, also within a sum. A condition, a ranking or another operator
over it would interpret the NULL, and is refused unless the windows are suppressed. The same applies to the keys of
changelog aggregates, which are never suppressed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from engine.changes.verdict import Migration, Reform
from engine.compile import Program
from engine.functions import AGGREGATES
from engine.plan.explain import aggregate_name, show
from engine.plan.expressions.expr import Call, Cast, Column, Expr, Member, columns_of
from engine.plan.expressions.expr import walk as exprs_of
from engine.plan.nodes import (
    Aggregate,
    Branch,
    Project,
    Union,
    Unnest,
    UpdatingAggregate,
    UpdatingJoin,
    UpdatingTop,
    WindowAggregate,
    Write,
    is_updating,
)
from engine.plan.placement.reads import read_by
from engine.plan.state.forms import hashed_in
from engine.plan.state.operators import Operator
from engine.plan.state.panes import are_kept_apart, columns_of_aggregate, fit_for_panes, origins_of
from engine.plan.state.retained_state import needs_values
from engine.plan.state.width_marks import is_wider, to_text
from engine.plan.tree import Node, inputs_of, walk
from engine.types import Decimal, Float, Integer, Type

_MOST = 62
"""Largest number of aggregates with unknown values: they are stored as bits of a BIGINT."""
_NULL_IN_NULL_OUT = frozenset({"+", "-", "*", "/", "%"})


def migration_of(
    old: Operator, new: Operator, after: Program, name: str, *, held_back: bool = False
) -> Migration | Reform | str:
    """Return how the new operator of `after` continues from the state of the old one, which has the same identity and
    other aggregates, or the reason why it cannot. A plan calls both by one `name`. If open windows are `held_back`,
    their unknown values are never emitted."""
    if isinstance(old.node, UpdatingAggregate) and isinstance(new.node, UpdatingAggregate):
        return _reform_of(old, new, after)
    if isinstance(old.node, UpdatingJoin | UpdatingTop) and old.kind == new.kind:
        return _kept_rows(old, new)
    if old.kind not in ("tumble", "hop") or new.kind != old.kind:
        is_wider = any(part.was is not None for part in old.columns)
        return f"{old.kind} cannot be moved to wider numbers yet" if is_wider else ""
    keys, aggregates, _ = _parts(old)
    new_keys, new_aggregates, _ = _parts(new)
    if keys != new_keys:
        return ""
    places = tuple(aggregates.index(part) if part in aggregates else None for part in new_aggregates)
    unknown = {place for place, old_place in enumerate(places) if old_place is None}
    is_by_pane = isinstance(old.node, WindowAggregate) and old.node.by_pane is not None
    stays = is_by_pane and new.number in fit_for_panes(after.operators)
    if not stays and (complaint := _why_not_in_spark(old, new, is_by_pane=is_by_pane)) is not None:
        return complaint
    if unknown and not held_back and (complaints := _Unknown(after, new, unknown).complaints()):
        return f"{'; '.join(complaints)}, unless --hold-back {name} leaves out the windows that are open"
    held_back = held_back and bool(unknown)
    if stays:
        reform = _reform_of_panes(old, new, places)
        if isinstance(reform, str):
            return reform
        return Migration(old.number, places, (), (), (), held_back=held_back, reform=reform)
    old_calls, new_calls = _calls(old), _calls(new)
    origins = list(_origins(old_calls, new_calls, places))
    if None in origins:
        return "a mean of so wide a DECIMAL is kept in another way"
    return Migration(
        operator=old.number,
        aggregates=places,
        origins=tuple(filter(None, origins)),
        columns_before=tuple(_names(old_calls)),
        columns_after=tuple(_names(new_calls)),
        has_wider_keys=_types_of_keys(old) != _types_of_keys(new),
        held_back=held_back,
        leave_panes=is_by_pane,
    )


def _why_not_in_spark(old: Operator, new: Operator, *, is_by_pane: bool) -> str | None:
    """Explain why window state of Spark cannot be built from the old window state or from panes, which know everything;
    return None if it can."""
    old_calls, new_calls = [] if is_by_pane else _calls(old), _calls(new)
    if not new_calls or not (old_calls or is_by_pane):
        return "one without aggregates cannot be moved yet"
    if not (new.is_read_in_order and (is_by_pane or old.is_read_in_order)):
        return "that can be done only where all aggregates of the window are read, in its order"
    if any(readers for _, _, readers in (_parts(old), _parts(new))):
        return "another operator that keeps state reads it"
    for call in (*old_calls, *new_calls):
        if columns_of_aggregate(call) is None:
            return f"{aggregate_name(call)} cannot be moved yet"
    if not (are_kept_apart(old_calls) and are_kept_apart(new_calls)):
        return "two of its aggregates are the same in a state"
    return None


def _reform_of_panes(old: Operator, new: Operator, places: tuple[int | None, ...]) -> Reform | str:
    """Return how the shards of windows whose state is stored by pane continue, with every aggregate that can be
    kept."""
    widened = _widened(old, new, (0,))
    if isinstance(widened, str):
        return widened
    _, new_aggregates, _ = _parts(new)
    formerly = _formerly(_strictly(old), new_aggregates, places)
    return Reform(old.number, places, None, formerly, widened, (0,))


def _reform_of(old: Operator, new: Operator, after: Program) -> Reform | str:
    keys, aggregates, _ = _parts(old)
    new_keys, new_aggregates, _ = _parts(new)
    if keys != new_keys:
        return ""
    places = tuple(aggregates.index(part) if part in aggregates else None for part in new_aggregates)
    unknown = {place for place, old_place in enumerate(places) if old_place is None}
    for place in sorted(unknown):
        call = _calls(new)[place]
        if call.function not in AGGREGATES:
            return f"{aggregate_name(call)} is a function of the user's, and cannot begin in the middle yet"
    groups = (0, *(None if place is None else place + 1 for place in places))
    widened = _widened(old, new, groups)
    if (complaint := _why_not_wider(old, new, places)) is not None:
        return complaint
    if isinstance(widened, str):
        return widened
    if len(places) > _MOST:
        return f"only so many as {_MOST} aggregates can be changed"
    if unknown and (complaints := _Unknown(after, new, unknown).complaints()):
        return "; ".join(complaints)
    strict = _strictly(old)
    return Reform(old.number, places, strict, _formerly(strict, new_aggregates, places), widened, groups)


def _strictly(old: Operator) -> tuple[str, ...]:
    """Return the canonical forms of an old operator's aggregates, from its own script."""
    keys, aggregates, _ = _parts(old)
    return tuple(part.was or part.meaning for part in old.columns[len(keys) : len(keys) + len(aggregates)])


def _formerly(strict: Sequence[str], new: Sequence[str], places: Sequence[int | None]) -> Mapping[str, str]:
    """Map the meaning of each new aggregate to its earlier meaning over narrower numbers."""
    return {
        meaning: strict[place] for meaning, place in zip(new, places, strict=True)
        if place is not None and strict[place] != meaning
    }  # fmt: skip


def _kept_rows(old: Operator, new: Operator) -> Reform | str:
    """Return how a join or a ranking continues with its stored rows, whose numbers may only become wider."""
    if [part.meaning for part in old.columns] != [part.meaning for part in new.columns]:
        return ""
    widened = _widened(old, new, groups := tuple(range(len(hashed_in(new.node)))))
    return widened if isinstance(widened, str) else Reform(old.number, widened=widened, groups=groups)


def _widened(old: Operator, new: Operator, groups: Sequence[int | None]) -> tuple[tuple[str, ...], ...] | str:
    """Return, for each value that the new operator hashes, its type in the old one, or nothing if it is unchanged; or
    the reason why it cannot be converted. `groups` are as in `Reform`."""
    before, after = hashed_in(old.node), hashed_in(new.node)
    widened: list[tuple[str, ...]] = []
    for place, exprs in zip(groups, after, strict=True):
        kinds = [expr.type for expr in exprs]
        former = kinds if place is None else [expr.type for expr in before[place]]
        if len(former) != len(kinds):
            return "what it knows its rows by has changed"
        for expr, kind in zip(exprs, former, strict=True):
            if kind != expr.type and not (isinstance(kind, Integer | Decimal) and is_wider(kind, expr.type)):
                return f"its rows are known by hashes, which are others for {show(expr)} as {expr.type} than as {kind}"
        widened.append(tuple("" if one == other else to_text(one) for one, other in zip(former, kinds, strict=True)))
    if any(any(group) for group in widened) and any(map(_adds_hashes, walk(new.node))):
        return "rows that are only added, and are joined with rows that change, are identified by their own hashes"
    return tuple(widened)


def _adds_hashes(node: Node) -> bool:
    """Whether a relation derives ids for some of its rows from hashes of their values."""
    if not is_updating(node):
        return False
    return isinstance(node, Unnest) or (isinstance(node, Union) and not all(map(is_updating, node.inputs)))


def _why_not_wider(old: Operator, new: Operator, places: Sequence[int | None]) -> str | None:
    """Explain why the state of an updating aggregate cannot be converted to wider numbers; return None if it can."""
    assert isinstance(old.node, UpdatingAggregate)
    parts, old_calls = old.columns[len(old.node.keys) :], _calls(old)
    only_appends = not is_updating(old.node.input)
    for call, place in zip(_calls(new), places, strict=True):
        if place is None or parts[place].was is None:
            continue
        pairs = list(zip(old_calls[place].expressions, call.expressions, strict=True))
        if call.function not in AGGREGATES and any(one.type != other.type for one, other in pairs):
            return f"{aggregate_name(call)} is a function of the user's, and would be given other types"
        if needs_values(call, only_appends=only_appends) and any(_has_floats(one, other) for one, other in pairs):
            return f"{aggregate_name(call)} keeps every value, and the same digits are another one as DOUBLE"
    return None


def _has_floats(one: Expr, other: Expr) -> bool:
    """Whether an expression reads a FLOAT that another one reads as DOUBLE."""
    kinds = [{part.type for part in exprs_of(expr) if isinstance(part.type, Float)} for expr in (one, other)]
    return kinds[0] != kinds[1]


def _parts(operator: Operator) -> tuple[list[str], list[str], list[str]]:
    """Return the canonical forms of an aggregation's keys, of its aggregates, and of its readers."""
    node = operator.node
    assert isinstance(node, WindowAggregate | UpdatingAggregate)
    meanings = [part.meaning for part in operator.columns]
    keys, aggregates = len(node.keys), len(node.aggregates)
    return meanings[:keys], meanings[keys : keys + aggregates], meanings[keys + aggregates :]


def _calls(operator: Operator) -> list[Aggregate]:
    assert isinstance(operator.node, WindowAggregate | UpdatingAggregate)
    return [named.aggregate for named in operator.node.aggregates]


def _names(calls: Sequence[Aggregate]) -> Iterator[str]:
    for call in calls:
        yield from (column.name for column in columns_of_aggregate(call) or ())


def _types_of_keys(operator: Operator) -> list[Type]:
    assert isinstance(operator.node, WindowAggregate | UpdatingAggregate)
    return [key.expr.type for key in operator.node.keys]


def _origins(old: Sequence[Aggregate], new: Sequence[Aggregate], places: Sequence[int | None]) -> Iterator[str | None]:
    """Map each column of the new state to the old column, or to the initial value of a new one; None if it cannot be
    built from the stored state."""
    widths = [len(columns_of_aggregate(call) or ()) for call in old]
    for call, place in zip(new, places, strict=True):
        if place is None:
            yield from (column.start for column in columns_of_aggregate(call) or ())
        else:
            yield from origins_of(old[place], call, sum(widths[:place]))


@dataclass(slots=True)
class _Unknown:
    """Propagates the temporarily unknown values of aggregates up to the sinks."""

    program: Program
    operator: Operator
    places: Collection[int]
    found: dict[str, None] = field(default_factory=dict)

    def complaints(self) -> list[str]:
        """Return, in words, every use of these values."""
        for write in self.program.parts.writes:
            self._written(write)
        return list(self.found)

    def _written(self, write: Write) -> None:
        unknown = self._columns(write.input)
        columns = self.program.tables[write.table].schema
        for name, column in zip(write.input.schema.names, columns, strict=True):
            if name in unknown and not column.nullable:
                self._complain(f"column {column.name} of {write.table} is NOT NULL, and would be NULL for a while")

    def _columns(self, node: Node) -> Collection[str]:
        """Return the columns of a relation that are unknown for a while."""
        if isinstance(node, Branch):
            return self._columns(self.program.parts.branches[node.index])
        if node == self.operator.node and isinstance(node, WindowAggregate | UpdatingAggregate):
            return {node.aggregates[place].name for place in self.places}
        below = [self._columns(part) for part in inputs_of(node)]
        if not any(below):
            return ()
        match node:
            case Project(_, columns):
                return {named.name for named in columns if self._passes_on(named.expr, below[0])}
            case Union(inputs):
                pairs = [(part.schema.names, unknown) for part, unknown in zip(inputs, below, strict=True)]
                names = enumerate(node.schema.names)
                return {name for place, name in names if any(parts[place] in unknown for parts, unknown in pairs)}
            case WindowAggregate() | UpdatingAggregate() | UpdatingJoin() | UpdatingTop():
                self._refuse_read(node, below)
                if isinstance(node, UpdatingJoin | UpdatingTop):
                    self._complain(f"{_said(node)} would keep its new values, which are not known for a while")
                return ()
        self._refuse_read(node, below)
        return {name for unknown in below for name in unknown}

    def _refuse_read(self, node: Node, below: Sequence[Collection[str]]) -> None:
        for name in sorted(read_by(node) & {name for unknown in below for name in unknown}):
            self._complain(f"{_said(node)} reads its new {name}, which is not known for a while")

    def _passes_on(self, expr: Expr, unknown: Collection[str]) -> bool:
        """Whether a value is NULL if one of these is; other expressions over them are refused."""
        if not columns_of(expr) & {*unknown}:
            return False
        match expr:
            case Column():
                return True
            case Cast(inner) | Member(inner):
                return self._passes_on(inner, unknown)
            case Call(function, arguments) if function in _NULL_IN_NULL_OUT:
                passed = [self._passes_on(argument, unknown) for argument in arguments]
                return any(passed)
        names = ", ".join(sorted(columns_of(expr) & {*unknown}))
        self._complain(f"something else is made of its new {names}, which is not known for a while")
        return True

    def _complain(self, text: str) -> None:
        self.found[text] = None


_NODES: Mapping[str, str] = {
    "Filter": "a condition", "Over": "a function over the window", "Top": "a ranking", "WindowJoin": "a join",
    "LookupJoin": "a join", "UpdatingJoin": "a join", "UpdatingTop": "a ranking", "Unnest": "unnest",
}  # fmt: skip


def _said(node: Node) -> str:
    return _NODES.get(type(node).__name__, "another aggregate")
