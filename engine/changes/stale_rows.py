"""Find rows of a changelog table that will be wrong because a filter above the state has changed.

A retraction repeats the old row, and has to pass the filters as well. So when `count(*) > 3` is new:

    key   written   at the change              later
    a     a 2       does not pass: it stays    a 3: neither the retraction nor the new row passes, and a 2 stays
    b     b 2       does not pass: it stays    b 4: b 2 is replaced
    c     c 5       is correct

It is unknown which rows a sink has, so they cannot be retracted. If a filter is removed instead, rows that it had
dropped are missing until their key changes next.

A table may get changelog rows from several places (UNION ALL, or several INSERTs), each with its own filters.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from engine.compile import Program
from engine.plan.explain import aggregate_name, grouping
from engine.plan.expressions.expr import Column, Named
from engine.plan.identity.meaning import OF_ROWS_BELOW, Meaning, Meanings
from engine.plan.nodes import (
    Branch,
    Filter,
    LookupJoin,
    Project,
    Scan,
    Union,
    Unnest,
    UpdatingAggregate,
    is_updating,
)
from engine.plan.placement.split import Parts
from engine.plan.state.operators import Operator, operators_of
from engine.plan.state.width_marks import marked
from engine.plan.state.widths import without_widths
from engine.plan.tree import Node, walk, with_inputs


@dataclass(frozen=True, slots=True)
class ChangedPlace:
    """Filters that were added and removed at one place that writes a table, as in the scripts; `name` identifies the
    place if there are several, and `operator` is the number of its operator in the new script. `is_told` if all rows
    are re-emitted."""

    came: tuple[str, ...]
    went: tuple[str, ...]
    name: str = ""
    operator: int | None = None
    is_told: bool = False

    @property
    def leaves_rows(self) -> bool:
        """Whether stale rows may stay."""
        return bool(self.came) and not self.is_told

    @property
    def _of_it(self) -> str:
        return f" from {self.name}" if self.name else ""

    @property
    def changes(self) -> str:
        """Return the conditions that were added and removed."""
        changes = [*(f"+ {test}" for test in self.came), *(f"- {test}" for test in self.went)]
        return f"({', '.join(changes)}){self._of_it}"

    @property
    def shown(self) -> Iterator[str]:
        """Yield which rows are stale, and for how long."""
        stay, missing = " AND ".join(self.came), " AND ".join(self.went)
        if self.is_told and stay:
            yield f"rows in it{self._of_it} for which {stay} is not true are taken back in the first epoch"
        if self.is_told and missing:
            yield f"rows{self._of_it} that {missing} has kept out come in the first epoch"
        if self.is_told:
            return
        if stay:
            yield (
                f"rows in it{self._of_it} for which {stay} is not true stay until a row of their key passes again, "
                "also when their key changes or goes"
            )
        if missing:
            yield f"rows{self._of_it} that {missing} has kept out are missing until their key changes"


@dataclass(frozen=True, slots=True)
class ChangedConditions:
    """All places where filters have changed."""

    places: tuple[ChangedPlace, ...]

    @property
    def leaves_rows(self) -> bool:
        """Whether stale rows may stay."""
        return any(place.leaves_rows for place in self.places)

    @property
    def reason(self) -> str:
        """Return the conditions that were added and removed, at every place."""
        return f"which of its rows come out has changed {', '.join(place.changes for place in self.places)}"

    @property
    def shown(self) -> str:
        """Return which rows are stale, and for how long."""
        return "; ".join(text for place in self.places for text in place.shown)


def changed_conditions(
    before: Program, after: Program, table: str, able_to_tell: Collection[int] = ()
) -> ChangedConditions | None:
    """Return the conditions that changed behind a table of changelog rows. Return None if only the width of numbers or
    the order of comparisons differs, or if the rows come from elsewhere. The operators `able_to_tell` emit all their
    rows again."""
    pairs = _pairs(_changes_of(before, table), _changes_of(after, table))
    changed = filter(None, (_changed(old, new) for old, new in pairs))
    told = [replace(place, is_told=place.operator in able_to_tell) for place in changed]
    places = tuple(sorted(told, key=lambda place: place.name))
    return ChangedConditions(places) if places else None


def told_by(before: Program, after: Program, able_to_tell: Collection[int]) -> frozenset[int]:
    """Return the operators whose conditions have changed and that can re-emit all their rows."""
    tables = {write.table for write in after.writes}
    changed = (changed_conditions(before, after, table, able_to_tell) for table in sorted(tables) if able_to_tell)
    places = (place for conditions in changed if conditions is not None for place in conditions.places)
    return frozenset(place.operator for place in places if place.is_told and place.operator is not None)


@dataclass(frozen=True, slots=True)
class _Changes:
    """Changelog rows that a table gets: their canonical form without widths, the script's names of the aggregates,
    their origin, and the number of the operator there."""

    meaning: Meaning
    names: Mapping[str, str]
    place: str
    operator: int | None

    @property
    def tests(self) -> Mapping[str, str]:
        """Return the conditions that rows pass after they leave the operator below; that operator's own verdict covers
        what comes before."""
        return {text: test for text, test in self.meaning.rows.items() if not test.startswith(OF_ROWS_BELOW)}

    def named(self, text: str) -> str:
        """Return a test as written in the script."""
        said = re.sub(r"\w+", lambda match: self.names.get(match[0], match[0]), self.tests[text])
        return re.sub(r"\.⟦\w+⟧", "", said)


def _changed(old: _Changes, new: _Changes) -> ChangedPlace | None:
    other_code = _names(old.meaning.functions ^ new.meaning.functions)
    came = {new.named(text) for text in new.tests if not _is_among(text, old.tests, other_code)}
    went = {old.named(text) for text in old.tests if not _stays(text, new.tests, other_code)}
    return ChangedPlace(tuple(sorted(came)), tuple(sorted(went)), new.place, new.operator) if came or went else None


def _pairs(before: Sequence[_Changes], after: Sequence[_Changes]) -> Iterator[tuple[_Changes, _Changes]]:
    """Yield the corresponding old and new changes, those with equal conditions first."""
    unpaired_old, unpaired_new = list(before), list(after)
    for with_changed in (False, True):
        for old in tuple(unpaired_old):
            for new in unpaired_new:
                is_same_origin = marked(old.meaning.origin).becomes(marked(new.meaning.origin))
                if is_same_origin and (with_changed or _changed(old, new) is None):
                    unpaired_old.remove(old)
                    unpaired_new.remove(new)
                    yield old, new
                    break


def _changes_of(program: Program, table: str) -> list[_Changes]:
    parts = without_widths(program.parts)
    # kept to the end: the meanings are cached by the identity of the relations
    pieces = [piece for write in parts.writes if write.table == table for piece in _pieces(write.input, parts)]
    updating = [piece for piece in pieces if is_updating(piece)]
    meanings = Meanings(program.codes, parts.branches, turns=True)
    told = program.operators
    operators = {id(loose.node): told[loose.number] for loose in operators_of(parts, program.codes)}
    changes = []
    for piece in updating:
        top = next((node for node in walk(piece) if isinstance(node, UpdatingAggregate)), None)
        named = {} if top is None else {call.name: aggregate_name(call.aggregate) for call in top.aggregates}
        place = _place(piece, operators) if len(updating) > 1 else ""
        operator = next((operators[id(node)].number for node in walk(piece) if id(node) in operators), None)
        changes.append(_Changes(meanings.of(piece), named, place, operator))
    return changes


def _pieces(node: Node, parts: Parts) -> Iterator[Node]:
    """Yield the inputs of a union with all operations above each of them."""
    match node:
        case Branch(index):
            yield from _pieces(parts.branches[index], parts)
        case Union(inputs):
            for below in inputs:
                for piece in _pieces(below, parts):
                    yield _called(piece, node)
        case Filter(below) | Project(below) | Unnest(below) | LookupJoin(below):
            for piece in _pieces(below, parts):
                yield with_inputs(node, [piece])
        case _:
            yield node


def _called(piece: Node, union: Union) -> Node:
    """Return an input of a union with the column names of the union."""
    columns = zip(union.schema, piece.schema, strict=True)
    return Project(piece, tuple(Named(new.name, Column(old.name, old.type, old.nullable)) for new, old in columns))


def _place(piece: Node, operators: Mapping[int, Operator]) -> str:
    """Describe the origin of changelog rows so that a reader of the script finds it."""
    for node in walk(piece):
        if (operator := operators.get(id(node))) is not None:
            return f"{grouping(operator.node)} of {' and '.join(operator.sources)} ({operator.id})"
    return " and ".join(sorted({node.table for node in walk(piece) if isinstance(node, Scan)}))


def _is_among(text: str, old_tests: Iterable[str], other_code: Set[str]) -> bool:
    return not _calls(text, other_code) and any(marked(old).becomes(marked(text)) for old in old_tests)


def _stays(text: str, new_tests: Iterable[str], other_code: Set[str]) -> bool:
    return not _calls(text, other_code) and any(marked(text).becomes(marked(new)) for new in new_tests)


def _names(functions: Set[str]) -> frozenset[str]:
    return frozenset(text.split()[0] for text in functions)


def _calls(text: str, functions: Set[str]) -> bool:
    return any(f"{name}(" in text for name in functions)
