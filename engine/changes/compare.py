"""Compare two scripts: the effect on the state of the first when the second replaces it.

    before   tumble-3f0c of clicks into counts
    after    session-77aa of clicks into sessions, tumble-3f0c of clicks into counts

    clicks         SAME         continues at its position
    tumble-3f0c    STATE_KEPT   Spark's operator 1 gets the state of operator 0
    session-77aa   STATE_NEW
    counts         SAME
    sessions       STATE_NEW    has the rows from the change on

See docs/decisions/operators-are-known-by-what-they-mean.md.

Choose the start position of each place of a plan that reads a table.

    before   tumble of clicks            source 0        after   session of clicks           source 0 <- 0
             clicks into others          source 1                tumble of clicks            source 1 <- 0
                                                                 clicks into others          source 2 <- 1

Spark has a source for each place of the plan that reads a table, numbered from the top, branch by branch. On a live
topic their positions may differ. The state of a kept operator covers the rows up to the position of its own source, and
so does the output of a branch without state.

Match operators whose numeric types have become wider, or whose comparisons have swapped sides.

    old      tumble-3f0c   sum(CAST(n AS BIGINT)), min(n) of n INT      number > 5
    new      tumble-3f0c   sum(n), min(n) of n BIGINT                   number > 5, a BIGINT
    result   tumble-3f0c   sum(n), min(n) as in the new script, each with its former type

The canonical texts (`plan/identity/meaning.py`) are then equal. Whether the state can be used is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial

from engine.changes.operators import Consent, Moves, Pair, kept_by, moves_of, operator_verdicts, pairs_of
from engine.changes.sinks import sink_verdicts
from engine.changes.sources import able_to_tell, new_sources, source_verdicts
from engine.changes.stale_rows import told_by
from engine.changes.verdict import Change, Migration, Reform, UpgradePlan, Verdict
from engine.compile import Program
from engine.errors import UnknownSubjectError
from engine.plan.identity.meaning import Meanings, digest
from engine.plan.nodes import Scan, Write
from engine.plan.state.operators import Operator, Part, is_stateful, operators_of, sinks_of
from engine.plan.state.width_marks import Marked, marked
from engine.plan.state.widths import without_widths
from engine.plan.tree import Node, inputs_of, walk
from engine.udf.requirements import needs_of


def compare(
    before: Program,
    after: Program,
    *,
    keep_state: Collection[str] = (),
    reset: Collection[str] = (),
    hold_back: Collection[str] = (),
    parallelism: tuple[int, int] | None = None,
) -> UpgradePlan:
    """Compare two programs and return what an upgrade from `before` to `after` does to the state. Operators in
    `keep_state` keep their state although their input rows have changed; operators, sources and sinks in `reset` start
    empty, or are removed; open windows of operators in `hold_back` are suppressed. `parallelism` is that of both, if
    known. Nothing is read or written, but a schema registry is asked about records whose columns change."""
    consent = Consent(frozenset(keep_state), frozenset(reset), frozenset(hold_back))
    is_same = before.fingerprint == after.fingerprint and before.kept_objects == after.kept_objects
    pairs = pairs_of(as_the_new_has_them(before, after), after.operators, is_same=is_same)
    moves = moves_of(pairs, after, consent)
    _check_names(consent, pairs, before, after)
    _check_held_back(consent, pairs, moves)
    fresh = new_sources(before, after, consent.reset)
    kept = kept_by(pairs, consent, moves)
    able = able_to_tell(before, after, pairs, kept, consent)
    verdicts = [
        *source_verdicts(before, after, consent.reset),
        *operator_verdicts(pairs, consent, moves, fresh, is_same=is_same),
        *sink_verdicts(before, after, consent.reset, able),
        *_lookup_verdicts(before, after),
        *_function_verdicts(before, after),
        *_rescale(parallelism),
    ]
    migrated = {number: move for number, move in moves.items() if isinstance(move, Migration) and number in kept}
    reformed = {number: move for number, move in moves.items() if isinstance(move, Reform) and number in kept}
    plan = UpgradePlan(
        before.fingerprint,
        after.fingerprint,
        tuple(verdicts),
        kept,
        migrated=migrated,
        reformed=reformed,
        keeps_other_objects=before.kept_objects != after.kept_objects,
        copies={pair.name: pair.old.id for pair in pairs if pair.old is not None and pair.is_copied},
    )
    plan = replace(plan, retold={number: able[number] for number in told_by(before, after, able)})
    dropped = plan.dropped_sources
    repeated = tuple(sorted({write.table for write in after.writes if dropped & _read_by(write)}))
    return replace(plan, sources=source_numbers(before, after, kept, dropped), repeated=repeated)


def _read_by(write: Write) -> frozenset[str]:
    return frozenset(node.table for node in walk(write) if isinstance(node, Scan))


def _check_names(consent: Consent, pairs: Collection[Pair], before: Program, after: Program) -> None:
    operators = {name for pair in pairs for name in pair.names}
    tables = {*before.scans, *after.scans}
    tables |= {write.table for program in (before, after) for write in program.writes}
    tables |= {*before.dead_letter_tables, *after.dead_letter_tables}
    for option, names, known in (
        ("keep-state", consent.keep_state, operators),
        ("reset", consent.reset, operators | tables),
        ("hold-back", consent.hold_back, operators),
    ):
        for name in sorted(names - known):
            raise UnknownSubjectError(
                f"--{option} {name}: neither script has anything of that name",
                hint=f"it may name {', '.join(sorted(known)) or 'nothing: there is no state'}",
            )


def _check_held_back(consent: Consent, pairs: Collection[Pair], moves: Moves) -> None:
    """Refuse to suppress windows that would lack nothing, and operators without windows."""
    for pair in pairs:
        move = moves.get(pair.new.number) if pair.new is not None else None
        is_useful = isinstance(move, str) or (isinstance(move, Migration) and move.held_back)
        for name in sorted(pair.names & consent.hold_back):
            if not is_useful or name in consent.reset:
                raise UnknownSubjectError(
                    f"--hold-back {name}: it has no open windows that would show NULL",
                    hint="leave it out: it is for a tumble or hop to which an aggregate is added",
                )


def _lookup_verdicts(before: Program, after: Program) -> Iterator[Verdict]:
    """Yield a verdict for each lookup table: it is queried for each row, so no state depends on it."""
    for name in sorted(before.declared.keys() & after.declared.keys()):
        old, new = before.declared[name], after.declared[name]
        if (old.direction, new.direction) == ("lookup", "lookup") and old != new:
            shown = "rows from the change on are looked up there, results of those before stay"
            yield Verdict("lookup", name, Change.RESTART, "where or how it is looked up differs", shown)


def _function_verdicts(before: Program, after: Program) -> Iterator[Verdict]:
    """Yield verdicts for functions that need other packages; stored objects are reported with the operators."""
    old_functions, new_functions = before.udfs.by_name, after.udfs.by_name
    for name in sorted(old_functions.keys() & new_functions.keys()):
        old, new = (needs_of(functions[name].file) for functions in (old_functions, new_functions))
        if old != new:
            went, came = (", ".join(sorted(others)) or "nothing" for others in ({*old} - {*new}, {*new} - {*old}))
            reason = f"it needs {came} instead of {went}"
            yield Verdict("function", name, Change.RESTART, reason, "rows from the change on are computed with that")


def _rescale(parallelism: tuple[int, int] | None) -> Iterator[Verdict]:
    if parallelism is not None and parallelism[0] != parallelism[1]:
        reason = f"the state is cut into {parallelism[1]} parts instead of {parallelism[0]}"
        yield Verdict("pipeline", "parallelism", Change.RESCALE, reason)


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the plan that reads a table: the number of the operator above it or, without one, the sinks of its
    rows; and the canonical form of its rows before they are combined with others."""

    table: str
    operator: int | None
    sinks: frozenset[str]
    meaning: str


def source_numbers(
    before: Program, after: Program, kept: Mapping[int, int], dropped: frozenset[str]
) -> Mapping[int, int]:
    """Map the number of each source of the new program to the old source from whose position it continues. A source of
    a kept operator continues from the corresponding source of that operator; one without state from where its sinks
    have all rows; any other from the first source of its table. A source without an entry starts from the beginning, or
    has sinks that may be at different positions."""
    old_places = [(number, place) for number, place in enumerate(places_of(before)) if place.table not in dropped]
    numbers: dict[int, int] = {}
    places = list(enumerate(places_of(after)))
    # several operators may go on with the state of one, each from the places of that
    unmatched = {place.operator: list(old_places) for _, place in places}
    for has_same_meaning in (True, False):
        for number, place in places:
            left = unmatched[place.operator]
            same = [old for old in left if _is_same(old[1], place, kept, has_same_meaning=has_same_meaning)]
            if number not in numbers and same and (has_same_meaning or place.operator is not None):
                numbers[number] = same[0][0]
                left.remove(same[0])
    for number, place in places:
        if number not in numbers and (others := _others(place, old_places)):
            numbers |= {number: others[0]} if len(others) == 1 or place.operator is not None else {}
    return numbers


def _is_same(old: Place, new: Place, kept: Mapping[int, int], *, has_same_meaning: bool) -> bool:
    """Whether two scans of one table are below the same operator, or provide rows for the same sinks."""
    if old.table != new.table or (has_same_meaning and old.meaning != new.meaning):
        return False
    if new.operator is not None:
        return old.operator is not None and kept.get(new.operator) == old.operator
    return old.operator is None and old.sinks == new.sinks


def _others(place: Place, old_places: Sequence[tuple[int, Place]]) -> list[int]:
    """Return from which old sources a new one may continue: those of its sinks, or else the first one of its table."""
    of_table = [(number, old) for number, old in old_places if old.table == place.table]
    of_sinks = [number for number, old in of_table if old.sinks & place.sinks]
    return of_sinks or [number for number, _ in of_table[:1]]


def places_of(program: Program) -> list[Place]:
    """Return the scans of a program, in the order of Spark's sources."""
    numbers = iter(range(len(program.operators)))
    meanings = Meanings(program.codes)

    def places(node: Node, alone: Node, operator: int | None, sinks: frozenset[str]) -> Iterator[Place]:
        if isinstance(node, Scan):
            yield Place(node.table, operator, sinks if operator is None else frozenset(), meanings.of(alone).digest)
        below = next(numbers) if is_stateful(node) else operator
        inputs = inputs_of(node)
        for part in inputs:
            yield from places(part, part if is_stateful(node) or len(inputs) > 1 else alone, below, sinks)

    branches = enumerate(program.parts.branches)
    return [
        place for index, branch in branches for place in places(branch, branch, None, sinks_of(program.parts, index))
    ]


MOVED = ("tumble", "hop", "updating-aggregate", "updating-join", "updating-top")
"""Kinds of state that can be converted to wider types."""
_OF_ROWS = ("updating-join", "updating-top")
"""Kinds of state that identify rows by hashes of all their columns."""
_NARROWER = "of narrower numbers"
"""Functions whose result depends on the width of a number, such as `arrow_typeof(n)`."""


@dataclass(frozen=True, slots=True)
class _Side:
    """An operator, and its form without widths."""

    operator: Operator
    loose: Operator

    @property
    def identity(self) -> Marked:
        return marked(self.loose.identity)

    @property
    def rows(self) -> Marked:
        return marked(self.loose.rows)

    @property
    def columns(self) -> Sequence[Marked]:
        return [marked(part.meaning) for part in self.loose.columns]


def as_the_new_has_them(before: Program, after: Program) -> tuple[Operator, ...]:
    """Return the operators of the old script, each with the texts of the new operator that is equal over wider
    numbers."""
    new_sides = list(_sides(after))
    names = {operator.pin for operator in before.operators} & {operator.pin for operator in after.operators} - {None}
    return tuple(_aligned(old, new_sides, names) for old in _sides(before))


def _sides(program: Program) -> Iterator[_Side]:
    loose = operators_of(without_widths(program.parts), program.codes, turns=True)
    yield from (_Side(*pair) for pair in zip(program.operators, loose, strict=True))


def _aligned(old: _Side, candidates: Sequence[_Side], names: Set[str | None]) -> Operator:
    alike = [new for new in candidates if old.identity.becomes(new.identity, exactly=True)]
    if not alike:
        return _told_apart(old.operator, candidates)
    new = max(alike, key=partial(_fit, old, names))
    operator = old.operator
    if operator.kind in MOVED:
        operator = replace(operator, identity=new.operator.identity, columns=tuple(_columns(old, new, alike)))
    else:
        operator = replace(operator, columns=tuple(_as_they_are(old, new)))
    if old.rows.becomes(new.rows, exactly=True):
        return replace(operator, rows=new.operator.rows, conditions=new.operator.conditions)
    looking = [other for other in alike if operator.rows == other.operator.rows]
    if looking and not any(old.rows.becomes(other.rows) for other in looking):
        conditions = tuple(map(_of_other_numbers, operator.conditions))
        return replace(operator, rows=digest(operator.rows, _NARROWER), conditions=conditions)
    return operator


def _fit(old: _Side, names: Set[str | None], new: _Side) -> tuple[bool, bool, bool, bool, int]:
    """Score how well a new operator fits an old one of the same canonical form; `pairs_of` chooses the pair with the
    highest score. `names` are the pinned names that both scripts have."""
    counterparts = _counterparts(old, new)
    return (
        old.operator.pin == new.operator.pin or names.isdisjoint({old.operator.pin, new.operator.pin}),
        old.rows.becomes(new.rows, exactly=True),
        len(counterparts) == len(old.columns) == len(new.columns),
        old.operator.sinks == new.operator.sinks,
        len(counterparts),
    )


def _told_apart(old: Operator, candidates: Sequence[_Side]) -> Operator:
    """Return an operator whose keys have another meaning over wider numbers, so that its texts differ from those of any
    new one."""
    looks = old.identity, [part.meaning for part in old.columns]
    if any(looks == (new.operator.identity, [part.meaning for part in new.operator.columns]) for new in candidates):
        return replace(old, columns=tuple(map(_of_other_numbers, old.columns)))
    return old


def _of_other_numbers(part: Part) -> Part:
    """Return a part with the same text in both scripts and another canonical form over narrower numbers."""
    return replace(part, meaning=digest(part.meaning, _NARROWER))


def _counterparts(old: _Side, new: _Side) -> dict[int, int]:
    """Map each old column to the new column that is equal, or equal over wider numbers."""
    columns, exactly = new.columns, old.operator.kind in _OF_ROWS
    places = {
        place: next((other for other, part in enumerate(columns) if column.becomes(part, exactly=exactly)), None)
        for place, column in enumerate(old.columns)
    }
    return {place: other for place, other in places.items() if other is not None}


def _columns(old: _Side, new: _Side, alike: Sequence[_Side]) -> Iterator[Part]:
    """Yield the columns of an old operator as the new one has them, or as another one of the same canonical form has
    them, which may start from a copy of the state."""
    counterparts = {
        place: (side, other) for side in (*reversed(alike), new) for place, other in _counterparts(old, side).items()
    }
    old_marks, texts = old.columns, {part.meaning for part in new.operator.columns}
    for place, part in enumerate(old.operator.columns):
        if place not in counterparts:
            yield _of_other_numbers(part) if part.meaning in texts else part
            continue
        side, other = counterparts[place]
        counterpart = side.operator.columns[other]
        is_same = (part.meaning, old_marks[place]) == (counterpart.meaning, side.columns[other])
        yield part if is_same else replace(part, meaning=counterpart.meaning, was=part.meaning)


def _as_they_are(old: _Side, new: _Side) -> Iterator[Part]:
    """Yield the columns of an operator that cannot be migrated. Mark the ones that look equal over wider numbers."""
    counterparts, old_marks, new_marks = _counterparts(old, new), old.columns, new.columns
    texts = {part.meaning for part in new.operator.columns}
    for place, part in enumerate(old.operator.columns):
        other = counterparts.get(place)
        if other is None and part.meaning in texts:
            yield _of_other_numbers(part)
            continue
        looks_the_same = other is not None and part.meaning == new.operator.columns[other].meaning
        is_wider = old.identity != new.identity or (other is not None and old_marks[place] != new_marks[other])
        yield replace(part, was=part.meaning) if looks_the_same and is_wider else part
