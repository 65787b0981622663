"""Compare source tables: the effect on their positions. A table is identified by its name."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from engine.changes.verdict import FROM_OPTIONS, Change, Verdict
from engine.compile import Program
from engine.connectors.base import Table
from engine.plan.expressions.expr import Expr
from engine.plan.identity.fingerprint import stable_text
from engine.plan.state.width_marks import is_wider


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
    """The tables whose positions begin anew."""
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
    """The settings of a table that differ, though they do not say which rows there are."""
    fields = (
        *("bad_data", "bad_data_check", "idle_time", "quiet_after"),
        *("framing", "framing_max_length", "cache", "dead_letter_table"),
    )
    changed = [name for name in fields if getattr(old, name) != getattr(new, name)]
    return sorted([*changed, *differing(old.options, new.options)])


def _differences(before: Program, after: Program, name: str) -> Iterator[str]:
    """In words, what of a table says that its rows are other ones."""
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
    """The columns that both scripts read, and that are others by now. What only one reads cannot be in both states."""
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
    """Whether a column may have more values than before, those that it had before among them."""
    old, new = before.declared[name].schema.find(column), after.declared[name].schema.find(column)
    if old is None or new is None or (old.nullable, new.nullable) == (True, False):
        return False
    return old.type == new.type or is_wider(old.type, new.type)


def _declared_columns(program: Program, name: str) -> dict[str, str]:
    """The columns of a table: their types, or from where they are filled."""
    table: Table = program.declared[name]
    columns = {field.name: f"{field.type}{'' if field.nullable else ' NOT NULL'}" for field in table.schema}
    return columns | {column: f"METADATA FROM '{key}'" for column, key in table.metadata}


def differing(old: BaseModel, new: BaseModel) -> list[str]:
    """The names of the options that differ."""
    if type(old) is not type(new):
        return ["type"]
    return [name for name in type(new).model_fields if getattr(old, name) != getattr(new, name)]


def _text(expr: Expr | None) -> str:
    return "" if expr is None else stable_text(expr)
