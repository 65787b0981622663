"""Compare source tables: the effect on their positions. A table is identified by its name.

Find changelog aggregates that can re-emit all their rows because a filter above them has changed.

    before   group by user   HAVING count(*) > 3    into out
    after    group by user   HAVING count(*) > 5    into out
    result   c1 > 3 over the stored columns selects the rows that are in out

That is known where the state goes on, where nothing but conditions and projections stands between it and its sinks,
and where these are the same ones, or some of them. See `engine.plan.state.withheld`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel

from engine import types
from engine.changes.operators import Consent, Pair
from engine.changes.verdict import FROM_OPTIONS, Change, Verdict
from engine.compile import Program
from engine.connectors.base import Table
from engine.functions import AGGREGATES
from engine.plan.expressions.conditions import is_left_to_python
from engine.plan.expressions.expr import Call, Column, Expr, Literal, walk
from engine.plan.identity.fingerprint import stable_text
from engine.plan.nodes import Branch, UpdatingAggregate
from engine.plan.state.operators import Operator
from engine.plan.state.width_marks import is_wider
from engine.plan.state.withheld import aggregate_of, condition_of, over_places, pieces_of
from engine.plan.tree import Node


def source_verdicts(before: Program, after: Program, reset: frozenset[str]) -> Iterator[Verdict]:
    """Yield the verdict on each table that either script reads, in the order of their names."""
    for name in sorted({*before.scans, *after.scans}):
        if name not in before.scans:
            yield _of_new(name, after)
        elif name not in after.scans:
            yield _of_gone(name, reset)
        else:
            yield _of_both(name, before, after, reset)


def new_sources(before: Program, after: Program, reset: frozenset[str]) -> frozenset[str]:
    """Return the tables that are read from the start."""
    return frozenset(name for name in after.scans if name not in before.scans or name in reset)


_TOO_LATE = "its times may be older than the watermark, so that windows would leave its rows out as late"


def _of_new(name: str, after: Program) -> Verdict:
    if after.parts.closes_windows:
        reason = f"it is not read yet, and {_TOO_LATE}: give it to a pipeline of its own"
        return Verdict("source", name, Change.REFUSED, reason)
    return Verdict("source", name, Change.STATE_NEW, "it is not read yet", f"it is read from {FROM_OPTIONS}")


def _of_gone(name: str, reset: frozenset[str]) -> Verdict:
    reason = "the new script does not read it"
    if name in reset:
        shown = "how far it was read is forgotten"
        return Verdict("source", name, Change.STATE_DROPPED, reason, shown, loses=True)
    return Verdict("source", name, Change.REFUSED, f"{reason}: --reset {name} gives up how far it was read")


def _of_both(name: str, before: Program, after: Program, reset: frozenset[str]) -> Verdict:
    differences = list(_differences(before, after, name))
    if name in reset and not after.parts.closes_windows:
        shown = f"it is read from {FROM_OPTIONS}: rows may come again, or be left out"
        return Verdict("source", name, Change.STATE_DROPPED, "it is reset", shown, loses=True)
    if name in reset:
        return Verdict("source", name, Change.REFUSED, f"it is to be reset, but {_TOO_LATE}")
    if differences:
        reason = f"{' and '.join(differences)}: what was read would be something else"
        way = f": --reset {name} reads it from {FROM_OPTIONS}" * (not after.parts.closes_windows)
        return Verdict("source", name, Change.REFUSED, f"{reason}{way}")
    return _of_same_rows(name, before, after)


def _of_same_rows(name: str, before: Program, after: Program) -> Verdict:
    changed = changed_options(before.declared[name], after.declared[name])
    old, new = before.scans[name].decoded, after.scans[name].decoded
    reasons = [f"{', '.join(changed)} changed"] if changed else []
    reasons += _wider_columns(before, after, name)
    reasons += [f"it reads {', '.join(sorted(new - old))} as well"] if new - old else []
    if not reasons:
        return Verdict("source", name, Change.SAME)
    return Verdict("source", name, Change.RESTART, "; ".join(reasons), "it is read on from where it was")


def changed_options(old: Table, new: Table) -> list[str]:
    """Return the options of a table that differ without changing its rows."""
    fields = (
        *("bad_data", "bad_data_check", "idle_time", "quiet_after"),
        *("framing", "framing_max_length", "cache", "dead_letter_table"),
    )
    changed = [name for name in fields if getattr(old, name) != getattr(new, name)]
    return sorted([*changed, *differing(old.options, new.options)])


def _differences(before: Program, after: Program, name: str) -> Iterator[str]:
    """Yield, in words, the differences of a table that mean other rows."""
    old, new = before.declared[name], after.declared[name]
    if old.connector != new.connector:
        yield f"its connector is {new.connector} instead of {old.connector}"
        return
    fixed = [field for field in differing(old.options, new.options) if field not in new.options.changeable]
    if fixed:
        yield f"its options {', '.join(fixed)} differ"
    if old.format != new.format:
        yield "its format differs"
    if old.primary_key != new.primary_key:
        yield "its primary key differs"
    yield from _differing_columns(before, after, name)
    old_scan, new_scan = before.scans[name], after.scans[name]
    if _text(old_scan.event_time) != _text(new_scan.event_time):
        yield "the event time of its rows differs"
    if _text(old_scan.watermark) != _text(new_scan.watermark):
        yield "its watermark differs"


def _differing_columns(before: Program, after: Program, name: str) -> Iterator[str]:
    """Yield the columns that both scripts read and that differ. A column that only one script reads cannot be in both
    states."""
    old, new = _declared_columns(before, name), _declared_columns(after, name)
    for column in sorted(_read_by_both(before, after, name)):
        if old.get(column) != new.get(column) and not _is_wider(before, after, name, column):
            yield f"column {column} is {new.get(column, 'not there')} instead of {old.get(column, 'not there')}"


def _wider_columns(before: Program, after: Program, name: str) -> Iterator[str]:
    old, new = _declared_columns(before, name), _declared_columns(after, name)
    for column in sorted(_read_by_both(before, after, name)):
        if old.get(column) != new.get(column):
            was_float = old[column].startswith("FLOAT") and new[column].startswith("DOUBLE")
            said = ", and what was read before stays as FLOAT has it" * was_float
            yield f"column {column} is {new[column]} instead of {old[column]}, which is wider{said}"


def _read_by_both(before: Program, after: Program, name: str) -> frozenset[str]:
    return before.scans[name].decoded & after.scans[name].decoded


def _is_wider(before: Program, after: Program, name: str, column: str) -> bool:
    """Whether a column may have more values than before, including all its former ones."""
    old, new = before.declared[name].schema.find(column), after.declared[name].schema.find(column)
    if old is None or new is None or (old.nullable, new.nullable) == (True, False):
        return False
    return old.type == new.type or is_wider(old.type, new.type)


def _declared_columns(program: Program, name: str) -> dict[str, str]:
    """Return the columns of a table: their types, or how they are filled."""
    table: Table = program.declared[name]
    columns = {field.name: f"{field.type}{'' if field.nullable else ' NOT NULL'}" for field in table.schema}
    return columns | {column: f"METADATA FROM '{key}'" for column, key in table.metadata}


def differing(old: BaseModel, new: BaseModel) -> list[str]:
    """Return the names of the options that differ."""
    if type(old) is not type(new):
        return ["type"]
    return [name for name in type(new).model_fields if getattr(old, name) != getattr(new, name)]


def _text(expr: Expr | None) -> str:
    return "" if expr is None else stable_text(expr)


_ALL: Expr = Literal(value=True, type=types.BOOLEAN)


def able_to_tell(
    before: Program, after: Program, pairs: Sequence[Pair], kept: Mapping[int, int], consent: Consent
) -> Mapping[int, Expr]:
    """Map the number of each new operator to the condition for rows that the old script has emitted, over columns that
    are named by position: `c0`, `c1` and so on."""
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
    """Whether everything above an operator can handle a re-emission of all its rows."""
    return _piece_of(program, operator) is not None


def tells_the_same(before: Program, old: Operator, after: Program, new: Operator, reset: frozenset[str]) -> bool:
    """Whether the rows of an aggregate reach the same tables in both scripts, and none of these starts empty."""
    written = _written(before, old, Consent(reset=reset))
    return bool(written) and written == _written(after, new, Consent(reset=reset))


def _written(program: Program, operator: Operator, consent: Consent) -> frozenset[str]:
    """Return the tables that get the rows of an aggregate as its branch emits them; none if they are processed further,
    or if one of these starts empty."""
    if _piece_of(program, operator) is None or not consent.reset.isdisjoint(operator.sinks):
        return frozenset()
    whole = {
        write.table
        for write in program.parts.writes
        if isinstance(write.input, Branch) and write.input.index == operator.branch
    }
    return frozenset(operator.sinks) if whole == {*operator.sinks} else frozenset()


def _piece_of(program: Program, operator: Operator) -> Node | None:
    """Return the relation over the rows of an aggregate alone, if it does nothing else and is the only one."""
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
    if any(map(is_left_to_python, calls)):
        return None  # its code may be another one by now
    places = dict(_places(old, new))
    read = {part.name for part in walk(condition) if isinstance(part, Column)}
    return over_places(condition, places) if read <= places.keys() else None


def _places(old: Operator, new: Operator) -> Iterator[tuple[str, int]]:
    """Yield the columns of an old aggregate with the positions of the equal ones in the new aggregate."""
    assert isinstance(old.node, UpdatingAggregate)
    assert isinstance(new.node, UpdatingAggregate)
    meanings = [part.meaning for part in new.columns]
    for old_field, part in zip(old.node.schema, old.columns, strict=False):
        place = meanings.index(part.meaning) if part.meaning in meanings else None
        if place is not None and new.node.schema.fields[place].type == old_field.type:
            yield old_field.name, place
