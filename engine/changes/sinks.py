"""Compare sinks: the effect on written output and on unpublished output. A table is identified by its name."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from engine.changes.sources import changed_options, differing
from engine.changes.stale_rows import ChangedConditions, changed_conditions
from engine.changes.verdict import Change, Verdict
from engine.compile import Program
from engine.connectors import sink_kind_of
from engine.connectors.base import Table
from engine.connectors.files.sink_options import FileSinkOptions
from engine.errors import EngineError
from engine.plan.identity.written import written_by
from engine.plan.nodes import is_updating
from engine.plan.state.width_marks import marked
from engine.plan.state.widths import without_widths

_LOGIN = {
    "auth_type", "auth_protocol", "auth_mechanism", "auth_username", "auth_password", "auth_region", "ssl_ca",
    "ssl_certificate", "ssl_key",
}  # fmt: skip
"""Options of a login, which do not affect the location of a sink."""
_OF_A_SCHEMA = {"descriptor", "avro_schema"}
"""Options of formats that define the schema of records."""
_OF_TEXT = ("json", "debezium_json", "raw_string")
"""Formats whose records can be read without a schema."""


def sink_verdicts(
    before: Program, after: Program, reset: frozenset[str], able_to_tell: Collection[int] = ()
) -> Iterator[Verdict]:
    """Yield the verdict on each table that either script writes, in the order of their names. `able_to_tell` are the
    operators that can emit all their rows again."""
    old_tables, new_tables = _written(before), _written(after)
    old_rows, new_rows = written_by(before.parts, before.codes), written_by(after.parts, after.codes)
    others = _of_other_numbers(before, after)
    for name in sorted({*old_tables, *new_tables}):
        old, new = old_tables.get(name), new_tables.get(name)
        if old is None:
            shown = "it has the rows from the change on"
            shown += "; a row that was there before comes when it changes next" * _changes(after, name)
            yield Verdict("sink", name, Change.STATE_NEW, "it is not written yet", shown)
        elif new is None:
            yield _of_gone(old, reset)
        else:
            conditions = changed_conditions(before, after, name, able_to_tell)
            has_same_rows = old_rows.get(name) == new_rows.get(name) and name not in others
            yield _of_both(old, new, after, reset, conditions, has_same_rows=has_same_rows)


def _of_other_numbers(before: Program, after: Program) -> frozenset[str]:
    """Return the sinks of both scripts whose rows may differ because numbers are wider, even if their texts are
    equal."""
    if _types_read(before) == _types_read(after):
        return frozenset()
    old, new = (written_by(without_widths(program.parts), program.codes) for program in (before, after))
    return frozenset(name for name in old.keys() & new.keys() if not marked(old[name]).becomes(marked(new[name])))


def _types_read(program: Program) -> frozenset[tuple[str, str, str]]:
    return frozenset(
        (scan.table, field.name, str(field.type)) for scan in program.scans.values() for field in scan.schema
    )


def _written(program: Program) -> Mapping[str, Table]:
    """Return the tables that a script writes, including those of dead letters."""
    names = {*(write.table for write in program.writes), *program.dead_letter_tables}
    return {name: program.declared[name] for name in names}


def _of_gone(old: Table, reset: frozenset[str]) -> Verdict:
    reason = "the new script does not write it"
    if not isinstance(old.options, FileSinkOptions):
        return Verdict("sink", old.name, Change.STATE_DROPPED, reason, "what it has written stays as it is")
    shown = "what it has published stays as it is; rows in its open files are never published"
    if old.name in reset:
        return Verdict("sink", old.name, Change.STATE_DROPPED, reason, shown, loses=True)
    return Verdict(
        "sink", old.name, Change.REFUSED, f"{reason}: --reset {old.name} gives up the rows in its open files"
    )


def _of_both(
    old: Table,
    new: Table,
    after: Program,
    reset: frozenset[str],
    conditions: ChangedConditions | None,
    *,
    has_same_rows: bool,
) -> Verdict:
    name = new.name
    if name in reset:
        shown = "what it has written stays where it is; rows in its open files are never published"
        return Verdict("sink", name, Change.STATE_DROPPED, "it is reset", shown, loses=True)
    if (place := _other_place(old, new)) is not None:
        return Verdict("sink", name, Change.REFUSED, f"{place}: --reset {name} starts over there")
    shapes = list(_other_shape(old, new))
    evolved = None
    if shapes and not (_stands_alone(old) and _stands_alone(new)):
        try:
            evolved = _evolved(old, new)
        except EngineError as refused:
            reason = f"{' and '.join(shapes)}; {refused.code}: {refused.message}"
            return Verdict("sink", name, Change.REFUSED, f"{reason}: {refused.hint}" if refused.hint else reason)
        if evolved is None:
            reason = f"{' and '.join(shapes)}, and what is written before and after has to have the same columns"
            more = "" if sink_kind_of(new).new_columns(new) is None else ", or only more of them, which may be NULL"
            return Verdict("sink", name, Change.REFUSED, f"{reason}{more}: write into another table")
    reasons = [*shapes, *([] if has_same_rows else ["its rows are computed otherwise"])]
    reasons += [] if conditions is None else [conditions.reason]
    if changed := changed_options(old, new):
        reasons.append(f"{', '.join(changed)} changed")
    if not reasons:
        return Verdict("sink", name, Change.SAME)
    shown = "rows from the change on are as the new script says, those before stay as they were written"
    shown += "" if evolved is None else f"; {evolved}"
    if conditions is not None:
        shown += f"; {conditions.shown}"
    elif _changes(after, name):
        shown += "; a row that was written before and would not be by now stays until one of its key is written again"
    is_wrong = conditions is not None and conditions.leaves_rows
    return Verdict("sink", name, Change.RESTART, "; ".join(reasons), shown, loses=is_wrong)


def _changes(program: Program, table: str) -> bool:
    return any(is_updating(write.input) for write in program.writes if write.table == table)


def _other_place(old: Table, new: Table) -> str | None:
    """Explain why two tables are different places; return None if they are the same."""
    if old.connector != new.connector:
        return f"its connector is {new.connector} instead of {old.connector}"
    fields = [field for field in differing(old.options, new.options) if field not in _LOGIN | new.options.changeable]
    if fields:
        return f"its options {', '.join(fields)} differ"
    return None if old.primary_key == new.primary_key else "its primary key differs"


def _other_shape(old: Table, new: Table) -> Iterator[str]:
    """Yield, in words, the differences between the records of two tables."""
    if old.format != new.format:
        yield "its format differs"
    before, after = (
        [f"{field.name} {field.type}{'' if field.nullable else ' NOT NULL'}" for field in table.schema]
        + [f"{column} METADATA FROM '{key}'" for column, key in table.metadata]
        for table in (old, new)
    )
    if before != after:
        came, went = (
            [column for column in one if column not in other] for one, other in ((after, before), (before, after))
        )
        changes = [*(f"+ {column}" for column in came), *(f"- {column}" for column in went)]
        yield f"its columns differ ({', '.join(changes) or 'in their order'})"


def _has_only_more_columns(old: Table, new: Table) -> bool:
    """Whether a table still has all its columns, in their order, followed by nullable ones."""
    names = {field.name.lower() for field in old.schema}
    further = [field for field in new.schema if field.name.lower() not in names]
    return (
        (old.format, old.metadata) == (new.format, new.metadata)
        and [*old.schema] == [field for field in new.schema if field not in further]
        and bool(further)
        and all(field.nullable for field in further)
    )


def _evolved(old: Table, new: Table) -> str | None:
    """Describe in words how a sink whose records have a schema takes the changed columns, or return None if it refuses
    them. Raise an EngineError if another system must be asked and refuses or does not answer."""
    if _differ_in_schema_alone(old, new) and (answer := sink_kind_of(new).ask_for_columns(new)) is not None:
        return answer
    return sink_kind_of(new).new_columns(new) if _has_only_more_columns(old, new) else None


def _differ_in_schema_alone(old: Table, new: Table) -> bool:
    """Whether the formats of two tables differ only in the schema that they name."""
    if old.format is None or new.format is None or type(old.format) is not type(new.format):
        return False
    return {*differing(old.format, new.format)} <= _OF_A_SCHEMA


def _stands_alone(table: Table) -> bool:
    """Whether each record can be read without any other, and without an external schema."""
    has_registry = getattr(table.format, "confluent_schema_registry", False)
    is_text = table.format is None or table.format.format in _OF_TEXT
    return sink_kind_of(table).records_stand_alone and is_text and not has_registry
