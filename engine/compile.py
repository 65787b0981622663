"""The chain of verbs from a script to something that can be run.

parse -> translate -> optimize -> check -> split; what follows (lower, run) needs Spark and lives in `engine.spark`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from engine.connectors.base import Table
from engine.plan.check import check
from engine.plan.fingerprint import fingerprint
from engine.plan.nodes import Scan, Write
from engine.plan.rules import optimize
from engine.plan.split import Parts, split
from engine.plan.tree import walk
from engine.schema import Schema
from engine.sql.parse import parse
from engine.sql.statements import translate


@dataclass(frozen=True, slots=True)
class Program:
    """A script that was understood: what it writes, the tables it touches, and how its plan is cut."""

    writes: tuple[Write, ...]
    tables: Mapping[str, Table]
    parts: Parts
    fingerprint: str

    @property
    def scans(self) -> Mapping[str, Scan]:
        """The source tables that are read, each with what is read of it."""
        return {node.table: node for write in self.writes for node in walk(write) if isinstance(node, Scan)}


def compile_script(text: str, *, default_sink: str = "stdout") -> Program:
    """The program of a script. Raises ScriptRefused with every complaint there is."""
    translation = translate(parse(text), default_sink)
    writes = optimize(translation.writes)
    check(writes)
    described = {name: _describe(table) for name, table in translation.tables.items()}
    program = Program(writes, translation.tables, split(writes), fingerprint(writes, described))
    return replace(program, tables={name: _narrow(table, program.scans) for name, table in program.tables.items()})


def _describe(table: Table) -> str:
    form = table.format.model_dump_json() if table.format else ""
    parts = [table.connector, table.direction, table.options.model_dump_json(), form, table.schema, table.metadata]
    parts += [table.primary_key] if table.primary_key else []
    return repr(parts)


def _narrow(table: Table, scans: Mapping[str, Scan]) -> Table:
    """The source table with only the columns that are decoded: those the plan uses and those its times need."""
    scan = scans.get(table.name)
    if scan is None or table.direction != "source":
        return table
    needed = scan.decoded | frozenset(table.primary_key if scan.is_changes else ())
    return replace(
        table,
        schema=Schema(tuple(field for field in table.schema if field.name in needed)),
        metadata=tuple(pair for pair in table.metadata if pair[0] in needed),
    )
