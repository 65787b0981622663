"""Aggregates that were changed while they ran: what they have kept may still be of the aggregates before.

    the state     operator 0 began as count(*), min(n)
    the script    count(*), sum(n)
    as it runs    UpdatingAggregate count(*), sum(n), of which each bucket is told what it may be kept as

It is a matter of the state, as what windows withhold is (`plan/withheld.py`). An aggregate over numbers that have
become wider has another text than before: a form says which it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeAlias

from engine.plan.identity.meaning import digest
from engine.plan.identity.stable_text import stable_text
from engine.plan.nodes import ByPane, Retelling, UpdatingAggregate, WindowAggregate
from engine.plan.placement.split import Parts
from engine.plan.state.former_types import Formers, FormersText, formers_of
from engine.plan.state.hashed import hashed_in, with_formers
from engine.plan.state.operators import Operator, is_stateful
from engine.plan.state.retelling import retold
from engine.plan.tree import Node, inputs_of, with_inputs


@dataclass(frozen=True, slots=True)
class Form:
    """A text for each aggregate of which a state was when it was first changed, and by the text of one over numbers
    that have become wider, what it was before, the newest first; None of what has no aggregates. `formers` are the
    types in which it has hashed its values (`plan/hashed.py`). With a `retelling` what reads it is told anew of all its
    rows (`plan/retelling.py`)."""

    began_as: tuple[str, ...] | None
    formerly: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    formers: FormersText = ()
    retelling: Retelling | None = None


Forms: TypeAlias = Mapping[int, Form]
"""By the numbers of operators."""


def form_of(operator: Operator) -> tuple[str, ...]:
    """A text for what each aggregate of an operator means, in their order."""
    assert isinstance(operator.node, UpdatingAggregate)
    first = len(operator.node.keys)
    return tuple(part.meaning for part in operator.columns[first : first + len(operator.node.aggregates)])


def with_forms(parts: Parts, forms: Forms, operators: Sequence[Operator], first_epoch: int) -> Parts:
    """The plan, whose operators these are, as it runs over such a state from an epoch on."""
    forms = {number: _beginning(form, first_epoch) for number, form in forms.items()}
    numbers = count()
    branches = [_with_forms(branch, forms, operators, numbers) for branch in parts.branches]
    return replace(parts, branches=tuple(map(retold, branches)))


def _beginning(form: Form, first_epoch: int) -> Form:
    """A form with the epoch in which all is to be told that is not told yet: the first of each run, since only buckets
    know whether they have."""
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
    """Return the form in which changed windows are kept by pane. Their shards record the form that they were written
    in."""
    assert node.by_pane is not None
    wanted = node.by_pane.form
    return ByPane((*wanted, *_widths(node, formers)), _formerly(form, wanted), formers)


def _formerly(form: Form, wanted: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the names that each aggregate had over narrower numbers, the newest first."""
    return tuple(form.formerly.get(text, ()) for text in wanted) if form.formerly else ()


def _widths(node: Node, formers: Formers) -> tuple[str, ...]:
    """A text for the types of what is hashed: an aggregate may be called the same whatever they are."""
    return (digest(stable_text((hashed_in(node), formers))),) if formers else ()
