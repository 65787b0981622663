"""Former aggregates of operators that were changed while they had state.

    the state          operator 0 began as count(*), min(n)
    the script         count(*), sum(n)
    the running plan   UpdatingAggregate count(*), sum(n), with the form that shards may have

This is a property of the state, like suppressed windows (`plan/state/withheld.py`). An aggregate over wider numbers has
another text than before, which a form records.

Values that operators hash to identify rows and keys. The hashes stay when numbers become wider.

    the state          keys n INT, each identified by the hash of an INT
    the script         keys n BIGINT
    the running plan   a key that fits into INT still has the hash of an INT, any other that of a BIGINT

So no row changes its shard, its id or its join partners. The former types are a property of the state
(`plan/state/forms.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeAlias

from engine.plan.expressions.expr import Column, Expr
from engine.plan.identity.fingerprint import stable_text
from engine.plan.identity.meaning import digest
from engine.plan.nodes import ByPane, Retelling, UpdatingAggregate, UpdatingJoin, UpdatingTop, WindowAggregate
from engine.plan.placement.split import Parts
from engine.plan.state.operators import Operator, is_stateful
from engine.plan.state.width_marks import Formers, FormersText, formers_of
from engine.plan.state.withheld import retold
from engine.plan.tree import Node, inputs_of, with_inputs
from engine.schema import Schema


@dataclass(frozen=True, slots=True)
class Form:
    """Texts of the aggregates at the first change of a state, and for aggregates over wider numbers their earlier
    texts, newest first; None if there are no aggregates. `formers` are the types in which values were hashed
    (`plan/state/forms.py`). With a `retelling` all rows are re-emitted (`plan/state/withheld.py`)."""

    began_as: tuple[str, ...] | None
    formerly: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    formers: FormersText = ()
    retelling: Retelling | None = None


Forms: TypeAlias = Mapping[int, Form]
"""Forms by operator number."""


def form_of(operator: Operator) -> tuple[str, ...]:
    """Return a text for the meaning of each aggregate of an operator, in their order."""
    assert isinstance(operator.node, UpdatingAggregate)
    first = len(operator.node.keys)
    return tuple(part.meaning for part in operator.columns[first : first + len(operator.node.aggregates)])


def with_forms(parts: Parts, forms: Forms, operators: Sequence[Operator], first_epoch: int) -> Parts:
    """Return the plan, whose operators these are, for a state with these forms from an epoch on."""
    forms = {number: _beginning(form, first_epoch) for number, form in forms.items()}
    numbers = count()
    branches = [_with_forms(branch, forms, operators, numbers) for branch in parts.branches]
    return replace(parts, branches=tuple(map(retold, branches)))


def _beginning(form: Form, first_epoch: int) -> Form:
    """Return a form with the epoch of pending re-emissions: the first epoch of each run, since only the shards know
    whether they have made them."""
    return form if form.retelling is None else replace(form, retelling=replace(form.retelling, epoch=first_epoch))


def _with_forms(node: Node, forms: Forms, operators: Sequence[Operator], numbers: Iterator[int]) -> Node:
    number = next(numbers) if is_stateful(node) else None
    changed = with_inputs(node, [_with_forms(below, forms, operators, numbers) for below in inputs_of(node)])
    if number is None or number not in forms:
        return changed
    form = forms[number]
    formers = formers_of(form.formers)
    if isinstance(changed, WindowAggregate):
        return replace(changed, by_pane=_panes_in_form(changed, form, formers))
    if isinstance(changed, UpdatingAggregate) and form.retelling is not None:
        changed = replace(changed, retelling=form.retelling)
    if not isinstance(changed, UpdatingAggregate) or form.began_as is None:
        return with_formers(changed, formers)
    wanted = form_of(operators[number])
    form_now = (*wanted, *_widths(changed, formers))
    return replace(changed, began_as=form.began_as, form=form_now, formerly=_formerly(form, wanted), formers=formers)


def _panes_in_form(node: WindowAggregate, form: Form, formers: Formers) -> ByPane:
    """Return the form in which changed windows are stored by pane. Their shards record the form in which they were
    written."""
    assert node.by_pane is not None
    wanted = node.by_pane.form
    return ByPane((*wanted, *_widths(node, formers)), _formerly(form, wanted), formers)


def _formerly(form: Form, wanted: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the names that each aggregate had over narrower numbers, the newest first."""
    return tuple(form.formerly.get(text, ()) for text in wanted) if form.formerly else ()


def _widths(node: Node, formers: Formers) -> tuple[str, ...]:
    """Return a text for the types of hashed values: an aggregate may have the same name whatever they are."""
    return (digest(stable_text((hashed_in(node), formers))),) if formers else ()


def hashed_in(node: Node) -> tuple[tuple[Expr, ...], ...]:
    """Return the values that an operator hashes: the keys of an aggregation, then the arguments of each aggregate; the
    columns of both sides of a join, then its match keys; the columns of a ranking, its order, and its partition; the
    keys of windows, which are hashed if they are stored by pane."""
    match node:
        case WindowAggregate(keys=keys):
            return (tuple(key.expr for key in keys),)
        case UpdatingAggregate(_, keys, aggregates):
            calls = [named.aggregate for named in aggregates]
            taken = [(*call.arguments, *(order.expr for order in call.order)) for call in calls]
            return (tuple(key.expr for key in keys), *taken)
        case UpdatingJoin(left, right, _, equal):
            matched = (tuple(pair[side] for pair in equal) for side in (0, 1))
            return (_columns(left.schema), _columns(right.schema), *matched)
        case UpdatingTop(source, _, partition, order):
            return (_columns(source.schema), tuple(by.expr for by in order), partition)
    raise TypeError(type(node).__name__)


def with_formers(node: Node, formers: Formers) -> Node:
    """Return the operator over values that had these types before."""
    match node:
        case UpdatingAggregate() | UpdatingJoin() | UpdatingTop():
            return replace(node, formers=formers)
    raise TypeError(type(node).__name__)


def _columns(schema: Schema) -> tuple[Expr, ...]:
    return tuple(Column(field.name, field.type, field.nullable) for field in schema)
