"""Compare stateful operators.

    before   tumble-3f0c of page = '/'    stores user, count(*)
    after    tumble-3f0c of page = '/a'   stores user, count(*)     REFUSED: its input rows have changed
             session-77aa of page = '/'   stores user, count(*)     STATE_NEW

If one of several sinks with the rows of an operator gets another query, that query has an operator of its own. It
continues with a copy of the state, because it has had the same rows up to the same position.

The same id means the same source, keys and window, unless a hint has set it. With a hint, the operators of that name
are compared by their definitions. If rows and columns are the same as well, the state is valid; otherwise no use is
guessed for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeAlias

from engine.changes.migration import migration_of
from engine.changes.verdict import Change, Migration, Reform, Verdict
from engine.compile import Program
from engine.plan.explain import grouping
from engine.plan.identity.meaning import OF_ROWS_BELOW
from engine.plan.nodes import (
    EventTimeOver,
    Scan,
    UpdatingAggregate,
    UpdatingJoin,
    UpdatingTop,
    WindowAggregate,
    is_updating,
)
from engine.plan.state.operators import Operator, Part
from engine.plan.state.retained_state import spell
from engine.plan.tree import inputs_of, walk


@dataclass(frozen=True, slots=True)
class Consent:
    """Losses and changes that the user has accepted: operators in `keep_state` keep rows that they would no
    longer get, objects in `reset` start empty, and operators in `hold_back` suppress their open windows."""

    keep_state: frozenset[str] = frozenset()
    reset: frozenset[str] = frozenset()
    hold_back: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Pair:
    """An operator of the old script and the matching one of the new script; None if there is none. It `is_copied` if
    the old operator also continues as another one, for other sinks. `old_ids` are the ids of all old operators, which
    no other operator may use."""

    old: Operator | None
    new: Operator | None
    is_copied: bool = False
    old_ids: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        """Return the names of the operator: its id in either script, unless another operator has that id."""
        if self.new is None or self.new.id in self.old_ids:
            return frozenset({self.name})
        return frozenset({self.name, self.new.id})

    @property
    def name(self) -> str:
        """Return the operator's name: its running id, if it runs."""
        if self.old is not None and not self.is_copied:
            return self.old.id
        assert self.new is not None
        return f"{self.new.id}-new" if self.new.id in self.old_ids else self.new.id


def pairs_of(before: Sequence[Operator], after: Sequence[Operator], *, is_same: bool = False) -> list[Pair]:
    """Pair the operators of two scripts. Operators of the same canonical form are paired: first by equal rows and
    columns, then by equal columns, then by order; among several, by the operator below them or by their sinks. An
    operator with the same pinned name in both scripts is paired with that, whatever its definition, unless the scripts
    are equal (`is_same`). An unpaired operator that feeds some of an old one's sinks starts from a copy of its state;
    it may have another name. New operators come first, in order, then the removed ones."""
    names = set() if is_same else _pins(before) & _pins(after)
    partners: dict[int, Operator] = {}
    copied: set[int] = set()
    unpaired = list(before)
    # an operator comes before all below it, so the nearest above one is the last of those
    above = {number: operator for operator in after for number in operator.below}

    def is_in_place(old: Operator, new: Operator) -> bool:
        if new.number not in above:
            return old.sinks == new.sinks
        reader = partners.get(above[new.number].number)
        return reader is not None and old.number in reader.below

    def is_parted(old: Operator, new: Operator) -> bool:
        others = {sink for other in after if partners.get(other.number) is old for sink in other.sinks}
        is_above_in_place = new.number not in above or is_in_place(old, new)
        return {*new.sinks} <= {*old.sinks} - others and is_above_in_place

    def may_meet(old: Operator, new: Operator) -> bool:
        return old.pin == new.pin or names.isdisjoint({old.pin, new.pin})

    def may_have_copy(old: Operator, new: Operator) -> bool:
        return old.pin == new.pin or new.pin not in names

    for matches in (_same, _same_columns, _same_identity, *([_same_pin] if names else [])):
        for is_suitable in (is_in_place, _anywhere):
            for new in after:
                suitable = (
                    old for old in unpaired if may_meet(old, new) and matches(old, new) and is_suitable(old, new)
                )
                if new.number not in partners and (old := next(suitable, None)) is not None:
                    partners[new.number] = old
                    unpaired.remove(old)
    for matches in (_same, _same_columns, _same_identity):
        for new in after:
            suitable = (old for old in before if may_have_copy(old, new) and matches(old, new) and is_parted(old, new))
            if new.number not in partners and (old := next(suitable, None)) is not None:
                partners[new.number] = old
                copied.add(new.number)
    ids = frozenset(operator.id for operator in before)
    pairs = [Pair(partners.get(new.number), new, new.number in copied, ids) for new in after]
    return [*pairs, *(Pair(old, None, old_ids=ids) for old in unpaired)]


def _anywhere(_old: Operator, _new: Operator) -> bool:
    return True


def _same(old: Operator, new: Operator) -> bool:
    return _same_columns(old, new) and old.rows == new.rows


def _same_columns(old: Operator, new: Operator) -> bool:
    return _same_identity(old, new) and _meanings(old.columns) == _meanings(new.columns)


def _keeps_the_same(old: Operator, new: Operator) -> bool:
    """Whether the state of one operator is exactly that of the other."""
    return _same_columns(old, new) and not _widened(old)


def _same_identity(old: Operator, new: Operator) -> bool:
    return old.identity == new.identity


def _same_pin(old: Operator, new: Operator) -> bool:
    return old.pin is not None and old.pin == new.pin


def _pins(operators: Sequence[Operator]) -> set[str | None]:
    return {operator.pin for operator in operators} - {None}


OTHER = "it means something else"
"""Reason why the state of an operator is useless for an operator of the same name."""

Moves: TypeAlias = Mapping[int, Migration | Reform | str]
"""For a new operator with other columns than the old one, by number: how it uses the old state, or a text why it
cannot."""


def moves_of(pairs: Sequence[Pair], after: Program, consent: Consent) -> Moves:
    """Return how each operator of `after` with changed columns could continue."""

    def move_of(pair: Pair, old: Operator, new: Operator) -> Migration | Reform | str:
        if not _same_identity(old, new):
            return OTHER
        return migration_of(old, new, after, pair.name, held_back=not pair.names.isdisjoint(consent.hold_back))

    return {
        pair.new.number: move_of(pair, pair.old, pair.new)
        for pair in pairs
        if pair.old is not None and pair.new is not None and not _keeps_the_same(pair.old, pair.new)
    }


def kept_by(pairs: Sequence[Pair], consent: Consent, moves: Moves) -> Mapping[int, int]:
    """Map the number of each new operator to the old one whose state it continues. No operator continues above one that
    does not: it would wait for retractions of unknown rows."""
    kept: dict[int, int] = {}
    # what is below an operator has larger numbers
    for pair in reversed(pairs):
        if pair.old is not None and pair.new is not None and not _missing_below(pair.old, pair.new, kept):
            kept |= {pair.new.number: pair.old.number} if _may_keep(pair, pair.old, pair.new, consent, moves) else {}
    return kept


def _may_keep(pair: Pair, old: Operator, new: Operator, consent: Consent, moves: Moves) -> bool:
    """Whether the state of an operator is right for another one, or is to be kept nevertheless."""
    if pair.names & consent.reset or isinstance(moves.get(new.number), str):
        return False
    if old.rows != new.rows and _would_take_back(old, new):
        return False
    has_same_rows = old.rows == new.rows and consent.reset.isdisjoint(old.sources)
    return has_same_rows or bool(pair.names & consent.keep_state)


def _would_take_back(old: Operator, new: Operator) -> bool:
    """Whether the new operator may receive retractions of rows that the old one never had: of rows that only now pass,
    or pass in another form. Other rows below, if they continue, are retracted as they were."""
    if not any(map(is_updating, inputs_of(new.node))):
        return False
    asked = {part.meaning for part in old.conditions if OF_ROWS_BELOW not in part.name}
    return old.functions != new.functions or not asked <= {*_meanings(new.conditions)}


def _missing_below(old: Operator, new: Operator, kept: Mapping[int, int]) -> bool:
    """Whether any operator below an operator does not continue with its state."""
    return {kept.get(number) for number in new.below} != {*old.below}


def _verdict_of(
    pair: Pair,
    consent: Consent,
    pairs: Sequence[Pair],
    kept: Mapping[int, int],
    moves: Moves,
    new_sources: frozenset[str],
) -> Verdict:
    if pair.new is not None and (pair.old is None or pair.names & consent.reset):
        known = ", ".join(_givers_of_changes(pair.new, pairs, kept, new_sources))
        if known:
            reason = f"it would begin with changes of rows that it has never had, from {known}"
            return Verdict("operator", pair.name, Change.REFUSED, f"{reason}: --reset {known} as well")
    match pair:
        case Pair(None, Operator() as new):
            return _new(pair, new, consent, pairs, new_sources)
        case Pair(Operator() as old, None):
            return _gone(pair, old, consent, pairs)
        case Pair(Operator() as old, Operator() as new):
            return _of_both(pair, old, new, consent, kept, moves)
    raise AssertionError(pair)


def _of_both(
    pair: Pair, old: Operator, new: Operator, consent: Consent, kept: Mapping[int, int], moves: Moves
) -> Verdict:
    if pair.names & consent.reset:
        shown = _shown_of_new(new, frozenset())
        return Verdict("operator", pair.name, Change.STATE_DROPPED, "it is reset", shown, loses=True)
    move = moves.get(new.number)
    if new.number in kept and isinstance(move, Migration | Reform):
        return _migrated(pair.name, old, new, move)
    if new.number in kept:
        reason = "; ".join(filter(None, (_difference_of_rows(old, new), _difference_of_ttl(old, new))))
        shown = "rows that it has kept from before stay in its results" if old.rows != new.rows else ""
        return Verdict("operator", pair.name, Change.STATE_KEPT, reason, shown)
    reasons, ways = [], [f"--reset {pair.name} gives up its state"]
    if not _same_identity(old, new):
        return Verdict("operator", pair.name, Change.REFUSED, f"{_difference_of_meaning(old, new)}: {ways[-1]}")
    if isinstance(move, str):
        reasons += [_difference_of_columns(old.columns, new.columns), *filter(None, [move])]
    if old.rows != new.rows:
        reasons.append(_difference_of_rows(old, new))
    anew = sorted(consent.reset.intersection(old.sources))
    if anew:
        reasons.append(f"its source {', '.join(anew)} starts over, and rows may come again")
    if old.rows != new.rows and _would_take_back(old, new):
        reasons.append("rows that change would be taken back from it which it has never had")
    elif (old.rows != new.rows or anew) and not isinstance(move, str):
        ways.insert(0, f"--keep-state {pair.name} lets the rows that it has kept stay")
    if _missing_below(old, new, kept):
        reasons.append("what is below it does not go on from where it was")
        ways = ways[-1:]
    return Verdict("operator", pair.name, Change.REFUSED, f"{'; '.join(reasons)}: {', '.join(ways)}")


def _migrated(name: str, old: Operator, new: Operator, move: Migration | Reform) -> Verdict:
    """Return the verdict on an operator that continues with other columns: what happens to each column, and from when a
    new one is right."""
    came, _ = _came_and_went(old.columns, new.columns)
    reasons = [_difference_of_columns(old.columns, new.columns), _difference_of_rows(old, new)]
    if isinstance(move, Migration) and move.leave_panes:
        reasons.append("its windows are no longer kept by pane")
    kept = ", ".join(part.name for part in new.columns if part.name not in came)
    is_window = isinstance(move, Migration)
    places = "in windows that are open" if is_window else "as before"
    shown = [f"{kept} {'goes' if kept.count(',') == 0 else 'go'} on {places}"] if kept else []
    held_back = isinstance(move, Migration) and move.held_back
    if held_back:
        shown = [
            "open windows are suppressed: none of their rows is emitted, not even known values",
            f"from the next window on all of them come, with {', '.join(came)}",
        ]
    elif None in move.aggregates and is_window:
        shown.append(f"windows that are open show NULL for {', '.join(came)}, which is right from the next window on")
    elif None in move.aggregates:
        shown.append(
            f"existing keys show NULL for {', '.join(came)}, but where an earlier version has still kept it for "
            "them; what is not NULL is right, and so are all keys that come later"
        )
    shown += ["rows that it has kept from before stay in its results"] if old.rows != new.rows else []
    reason = "; ".join(filter(None, reasons))
    return Verdict("operator", name, Change.STATE_MIGRATED, reason, "; ".join(shown), loses=held_back)


def _givers_of_changes(
    new: Operator, pairs: Sequence[Pair], kept: Mapping[int, int], new_sources: frozenset[str]
) -> list[str]:
    """Return the operators that continue below this one and retract rows that they emitted before."""
    if not any(map(is_updating, inputs_of(new.node))):
        return []
    operators = [
        pair.name
        for pair in pairs
        if pair.new is not None and pair.new.number in kept and pair.new.number in new.below
        and is_updating(pair.new.node)
    ]  # fmt: skip
    scans = (node for node in walk(new.node) if isinstance(node, Scan) and node.is_changes)
    return [*operators, *sorted({scan.table for scan in scans} - new_sources)]


def _gone(pair: Pair, old: Operator, consent: Consent, pairs: Sequence[Pair]) -> Verdict:
    reason = f"nothing in the new script is {grouping(old.node)} of {_tables(old)}"
    others = [
        other.new
        for other in pairs
        if other.old is None and other.new is not None
        and (other.new.kind, other.new.sources) == (old.kind, old.sources)
    ]  # fmt: skip
    if others:
        instead = f"{grouping(others[0].node)} ({others[0].id})"
        reason = f"it is {grouping(old.node)}, and the new script has {instead} instead"
    if pair.names & consent.reset:
        return Verdict(
            "operator", old.id, Change.STATE_DROPPED, reason, "what it has not emitted yet is lost", loses=True
        )
    return Verdict("operator", old.id, Change.REFUSED, f"{reason}: --reset {old.id} gives up its state")


def _new(pair: Pair, new: Operator, consent: Consent, pairs: Sequence[Pair], new_sources: frozenset[str]) -> Verdict:
    reason, shown = f"{grouping(new.node)} of {_tables(new)} is not kept yet", _shown_of_new(new, new_sources)
    parted = {sink: other.old.id for other in pairs if other.old for sink in _parted(other.old, other.new, new)}
    if not parted:
        return Verdict("operator", pair.name, Change.STATE_NEW, reason, shown)
    sinks, others = (", ".join(sorted(names)) for names in (parted, {*parted.values()}))
    reason = f"{reason}, and {sinks} has had its rows from {others} so far, whose state goes on without it"
    if pair.name in consent.reset:
        return Verdict("operator", pair.name, Change.STATE_NEW, reason, shown, loses=True)
    return Verdict("operator", pair.name, Change.REFUSED, f"{reason}: --reset {pair.name} lets it begin with nothing")


def _parted(old: Operator, going_on: Operator | None, new: Operator) -> set[str]:
    """Return the sinks that get their rows from a new operator, and got them before from one that continues for other
    sinks only."""
    return set() if going_on is None else ({*old.sinks} - {*going_on.sinks}) & {*new.sinks}


def _shown_of_new(new: Operator, new_sources: frozenset[str]) -> str:
    if new.sources and new_sources.issuperset(new.sources):
        return "it begins with its sources"
    if isinstance(new.node, WindowAggregate):
        return "it has only the rows from the change on: windows that are open at that time are incomplete"
    return "it has only the rows from the change on, and nothing of those before"


def _difference_of_rows(old: Operator, new: Operator) -> str:
    """Explain what has changed about the input rows of an operator; return an empty text if nothing has."""
    if old.rows == new.rows:
        return ""
    came, went = _came_and_went(old.conditions, new.conditions)
    if came or went:
        return f"its input rows have changed ({_listed(came, went)})"
    changed = sorted({text.split()[0] for text in {*old.functions} ^ {*new.functions}})
    if changed:
        return f"the code of {', '.join(changed)} has changed, which makes its rows"
    return "the event time of its rows, or what is below it, has changed"


def _difference_of_meaning(old: Operator, new: Operator) -> str:
    """Explain what an operator is now that has the same name."""
    before, after = (f"{grouping(operator.node)} of {_tables(operator)}" for operator in (old, new))
    if before == after:
        return f"it is {after} still, of rows that are made in another way, so its state is of others"
    return f"it is {after} instead of {before}, so its state is of something else"


def _difference_of_columns(old: Sequence[Part], new: Sequence[Part]) -> str:
    came, went = _came_and_went(old, new)
    names = {part.meaning: part.name for part in new}
    wider = [(part.name, names.get(part.meaning, part.name)) for part in old if part.was is not None]
    said = f"its numbers are wider ({', '.join(map(_becomes, wider))})" if wider else ""
    if came or went:
        changed = f"what it keeps has changed ({_listed(came, went)})"
        return f"{changed}; {said}" if said else changed
    return said or f"what it keeps has another order: {', '.join(part.name for part in new)}"


def _becomes(names: tuple[str, str]) -> str:
    old, new = names
    return old if old == new else f"{old} becomes {new}"


def _widened(operator: Operator) -> bool:
    """Whether some of its state has wider numbers in the new script."""
    return any(part.was is not None for part in operator.columns)


def _difference_of_ttl(old: Operator, new: Operator) -> str:
    before, after = _ttl(old), _ttl(new)
    if before == after or before is None or after is None:
        return ""
    return f"it is kept for {spell(after)} after its last change instead of {spell(before)}; what is forgotten stays so"


def _ttl(operator: Operator) -> timedelta | None:
    match operator.node:
        case UpdatingAggregate(ttl=ttl) | UpdatingJoin(ttl=ttl) | UpdatingTop(ttl=ttl) | EventTimeOver(ttl=ttl):
            return ttl
    return None


def _came_and_went(old: Sequence[Part], new: Sequence[Part]) -> tuple[list[str], list[str]]:
    came = [part.name for part in new if part.meaning not in _meanings(old)]
    went = [part.name for part in old if part.meaning not in _meanings(new)]
    return came, went


def _listed(came: Sequence[str], went: Sequence[str]) -> str:
    return ", ".join([*(f"+ {name}" for name in came), *(f"- {name}" for name in went)])


def _meanings(parts: Sequence[Part]) -> list[str]:
    return [part.meaning for part in parts]


def _tables(operator: Operator) -> str:
    return " and ".join(operator.sources)


def operator_verdicts(
    pairs: Sequence[Pair], consent: Consent, moves: Moves, new_sources: frozenset[str], *, is_same: bool
) -> Iterator[Verdict]:
    """Yield the verdict on each operator; none for two scripts of the same canonical form. `new_sources` are the tables
    that are not read yet."""
    kept = kept_by(pairs, consent, moves)
    for pair in pairs:
        verdict = _verdict_of(pair, consent, pairs, kept, moves, new_sources)
        if is_same and verdict.change is Change.STATE_KEPT:
            verdict = Verdict("operator", verdict.name, Change.SAME)
        yield _of_copy(verdict, pair) if pair.is_copied else _renamed(verdict, pair)


def _of_copy(verdict: Verdict, pair: Pair) -> Verdict:
    """Return the verdict with the origin of the copied state, and the sinks of the copy."""
    assert pair.old is not None
    assert pair.new is not None
    sinks = ", ".join(pair.new.sinks)
    begins = "would go on" if verdict.change is Change.REFUSED else "goes on"
    copied = f"{sinks} has had its rows from {pair.old.id} so far, and {begins} with a copy of that state"
    if verdict.change is Change.STATE_DROPPED:
        copied = f"{sinks} has had its rows from {pair.old.id} so far, whose state goes on without it"
    return replace(verdict, reason="; ".join(filter(None, (copied, verdict.reason))))


def _renamed(verdict: Verdict, pair: Pair) -> Verdict:
    """Return the verdict with the new name of the operator, if a hint renames it."""
    if pair.old is None or pair.new is None or pair.old.pin == pair.new.pin:
        return verdict
    reason = "; ".join(filter(None, (f"it is called {pair.new.id} in the new script", verdict.reason)))
    return replace(verdict, reason=reason)
