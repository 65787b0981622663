"""A rehearsal: an old query and a new one are run from the same state over the same input, and their rows compared.

    orders   kafka topic "orders"             read again, and nobody is told
    counts   Parquet in s3://lake/counts      its rows are kept beside, and the bucket is not opened
    clicks   impulse, 100 rows a second       refused: the rows since the savepoint were made by the clock

What is here is about programs; nothing is read, and nothing run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from engine.compile import Program
from engine.connectors import sink_kind_of, source_kind_of
from engine.connectors.base import HasEnd, Table
from engine.connectors.rehearsal import REHEARSAL, RehearsalOptions
from engine.errors import RehearsalError
from engine.functions import FUNCTIONS
from engine.plan.identity.written import functions_of
from engine.plan.nodes import LookupJoin
from engine.plan.placement.reads import read_by
from engine.plan.tree import EVENT_TIME, walk


def with_kept_rows(program: Program) -> Program:
    """The program with the rows of every sink kept for a comparison. What cannot be read is left out, and kept
    nowhere."""
    written = {write.table for write in program.writes}
    tables = {name: _kept(table) if name in written else _quiet(table) for name, table in program.tables.items()}
    return replace(program, tables=tables)


def _kept(table: Table) -> Table:
    options = RehearsalOptions(wants_event_time=sink_kind_of(table).needs_event_time(table.options))
    return replace(_quiet(table), connector=REHEARSAL.name, options=options, format=None)


def _quiet(table: Table) -> Table:
    """The table without a place for dead letters."""
    bad_data = "drop" if table.bad_data == "dead_letter" else table.bad_data
    return replace(table, bad_data=bad_data, dead_letter_directory=None, dead_letter_table=None)


def refuse_unrepeatable(program: Program) -> None:
    """Raise RehearsalError for a source whose rows since a savepoint cannot be read again, twice, as they were."""
    for name, scan in program.scans.items():
        table = program.tables[name]
        kind = source_kind_of(table)
        if kind.is_by_clock(table.options):
            raise RehearsalError(
                f"{name} cannot be read again: its connector {table.connector} makes its rows by the clock",
                hint="rehearse with a script that reads it from files or from a topic",
            )
        source = kind.open(table)
        if not source.bounded and not isinstance(source, HasEnd):
            raise RehearsalError(
                f"{name} cannot be read again up to now: its connector {table.connector} cannot say where it ends",
                hint="rehearse with a script that reads it from files or from a topic",
            )
        if scan.event_time is None and _looks_at_time(program):
            raise RehearsalError(
                f"{name} cannot be read again as it was: it has no event time, so its rows are of the moment at which "
                "they are read",
                hint="name its event time with 'event_time_field'",
            )


def _looks_at_time(program: Program) -> bool:
    parts = program.parts
    nodes = [node for root in (*parts.branches, *program.writes) for node in walk(root)]
    return parts.closes_windows or any(EVENT_TIME in read_by(node) for node in nodes)


def remarks(program: Program) -> Iterator[str]:
    """In words, what may make a difference by itself, or is done once more."""
    looked_up = {node.table for write in program.writes for node in walk(write) if isinstance(node, LookupJoin)}
    for name in sorted(looked_up):
        yield f"rows are looked up in {name} as it is now, and not as it was when they came"
    called = {name for write in program.writes for name in functions_of(write)}
    for name in sorted(called):
        if name in program.udfs.by_name:
            yield f"the function {name}() is run once more for each row: what it does elsewhere is done again"
        elif name in FUNCTIONS and not FUNCTIONS[name].deterministic:
            yield f"{name}() gives another value each time: rows differ by it"
