"""Find changelog aggregates that can re-emit all their rows because a filter above them has changed.

    before   group by user   HAVING count(*) > 3    into out
    after    group by user   HAVING count(*) > 5    into out
    result   c1 > 3 over the stored columns selects the rows that are in out

That is known where the state goes on, where nothing but conditions and projections stands between it and its sinks,
and where these are the same ones, or some of them. See `engine.plan.state.withheld`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from engine import types
from engine.changes.operators import Consent, Pair
from engine.compile import Program
from engine.functions import AGGREGATES, FUNCTIONS
from engine.plan.expressions.expr import Call, Column, Expr, Literal, walk
from engine.plan.nodes import Branch, UpdatingAggregate
from engine.plan.state.operators import Operator
from engine.plan.state.withheld import aggregate_of, condition_of, over_places, pieces_of
from engine.plan.tree import Node

_ALL: Expr = Literal(value=True, type=types.BOOLEAN)


def able_to_tell(
    before: Program, after: Program, pairs: Sequence[Pair], kept: Mapping[int, int], consent: Consent
) -> Mapping[int, Expr]:
    """By the number of a new operator which of its rows the old script has let out, over columns that are called after
    their places: `c0`, `c1` and so on."""
    conditions: dict[int, Expr] = {}
    for pair in pairs:
        if pair.old is None or pair.new is None or kept.get(pair.new.number) != pair.old.number:
            continue
        sinks = _written(after, pair.new, consent)
        if sinks and sinks <= _written(before, pair.old, consent):
            condition = _old_condition(before, pair.old, pair.new)
            conditions |= {} if condition is None else {pair.new.number: condition}
    return conditions


def can_tell(program: Program, operator: Operator) -> bool:
    """Whether what reads an operator can be told of all its rows anew."""
    return _piece_of(program, operator) is not None


def tells_the_same(before: Program, old: Operator, after: Program, new: Operator, reset: frozenset[str]) -> bool:
    """Whether the rows of an aggregate come to the same tables by both scripts, and none of these begins anew."""
    written = _written(before, old, Consent(reset=reset))
    return bool(written) and written == _written(after, new, Consent(reset=reset))


def _written(program: Program, operator: Operator, consent: Consent) -> frozenset[str]:
    """The tables that get the rows of an aggregate as its branch releases them; none where anything else is done with
    them, or where one of these begins anew."""
    if _piece_of(program, operator) is None or not consent.reset.isdisjoint(operator.sinks):
        return frozenset()
    whole = {
        write.table
        for write in program.parts.writes
        if isinstance(write.input, Branch) and write.input.index == operator.branch
    }
    return frozenset(operator.sinks) if whole == {*operator.sinks} else frozenset()


def _piece_of(program: Program, operator: Operator) -> Node | None:
    """The relation that is made of the rows of an aggregate alone, if it does nothing else and is the only one."""
    pieces = [
        piece for piece in pieces_of(program.parts.branches[operator.branch]) if aggregate_of(piece) == operator.node
    ]
    if len(pieces) != 1 or not isinstance(operator.node, UpdatingAggregate):
        return None
    is_ours = all(named.aggregate.function in AGGREGATES for named in operator.node.aggregates)
    return pieces[0] if is_ours else None


def _old_condition(before: Program, old: Operator, new: Operator) -> Expr | None:
    """Return the old script's condition over the columns of the new operator; None if they cannot express it."""
    piece = _piece_of(before, old)
    condition = None if piece is None else condition_of(piece)
    if condition is None:
        return _ALL
    calls = [part for part in walk(condition) if isinstance(part, Call)]
    if any(call.function not in FUNCTIONS or FUNCTIONS[call.function].is_computed for call in calls):
        return None  # its code may be another one by now
    places = dict(_places(old, new))
    read = {part.name for part in walk(condition) if isinstance(part, Column)}
    return over_places(condition, places) if read <= places.keys() else None


def _places(old: Operator, new: Operator) -> Iterator[tuple[str, int]]:
    """For the columns of an old aggregate the places of those that are the same in the new one."""
    assert isinstance(old.node, UpdatingAggregate)
    assert isinstance(new.node, UpdatingAggregate)
    meanings = [part.meaning for part in new.columns]
    for old_field, part in zip(old.node.schema, old.columns, strict=False):
        place = meanings.index(part.meaning) if part.meaning in meanings else None
        if place is not None and new.node.schema.fields[place].type == old_field.type:
            yield old_field.name, place
