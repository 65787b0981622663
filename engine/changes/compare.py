"""Compare two scripts: the effect on the state of the first when the second replaces it.

    before   tumble-3f0c of clicks into counts
    after    session-77aa of clicks into sessions, tumble-3f0c of clicks into counts

    clicks         SAME         continues at its position
    tumble-3f0c    STATE_KEPT   Spark's operator 1 gets the state of operator 0
    session-77aa   STATE_NEW
    counts         SAME
    sessions       STATE_NEW    has the rows from the change on

See docs/decisions/operators-are-known-by-what-they-mean.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from engine.changes.operators import Consent, Moves, Pair, kept_by, moves_of, operator_verdicts, pairs_of
from engine.changes.positions import source_numbers
from engine.changes.retelling import able_to_tell
from engine.changes.sinks import sink_verdicts
from engine.changes.sources import new_sources, source_verdicts
from engine.changes.stale_rows import told_by
from engine.changes.verdict import Change, Migration, Reform, UpgradePlan, Verdict
from engine.changes.widening import as_the_new_has_them
from engine.compile import Program
from engine.errors import UnknownSubjectError
from engine.plan.nodes import Scan, Write
from engine.plan.tree import walk
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
    """Refuse to hold back windows that would show all there is, and what has no windows to hold back."""
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
    """Lookup tables are asked anew for each row, so nothing of them is kept."""
    for name in sorted(before.declared.keys() & after.declared.keys()):
        old, new = before.declared[name], after.declared[name]
        if (old.direction, new.direction) == ("lookup", "lookup") and old != new:
            shown = "rows from the change on are looked up there, results of those before stay"
            yield Verdict("lookup", name, Change.RESTART, "where or how it is looked up differs", shown)


def _function_verdicts(before: Program, after: Program) -> Iterator[Verdict]:
    """Functions that ask for other packages: what has kept their objects is told among the operators."""
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
