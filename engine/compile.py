"""Compile a script to a program.

parse -> translate -> optimize -> check -> split; the next steps (lower, run) need Spark and are in `engine.spark`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

from engine.connectors import sink_kind_of, source_kind_of
from engine.connectors.base import Options, Table, narrowed
from engine.connectors.redirected import redirected
from engine.connectors.shown import only_shown
from engine.connectors.stand_ins import stood_in, unread
from engine.delivery.target_names import first_collision
from engine.errors import (
    HintError,
    LiteralSecretError,
    OptionValueError,
    ScriptRefused,
    SharedTargetError,
    SinkPrefixError,
    TextPosition,
)
from engine.formats.base import FormatOptions
from engine.functions import user_functions
from engine.plan.column_lineage import ColumnLineage, lineage_of_writes
from engine.plan.identity.fingerprint import fingerprint, pins_of, stable_text
from engine.plan.identity.meaning import Code
from engine.plan.identity.written import functions_of
from engine.plan.nodes import Scan, Write, is_updating
from engine.plan.placement.fuse import fuse
from engine.plan.placement.reads import check
from engine.plan.placement.split import Parts, split
from engine.plan.placement.whole import WholeBranch, is_for_one_task, whole_branch
from engine.plan.rules import optimize
from engine.plan.state.operators import Operator, keepers_of_objects, operators_of
from engine.plan.tree import walk
from engine.schema import Schema
from engine.sql.set_statement import SinkPrefix
from engine.sql.statements import Translation, translate
from engine.sql.tables.create_connection import read_connections
from engine.sql.text.literal_secrets import keys_in_urls, literal_secrets
from engine.sql.text.parse import parse
from engine.udf.declared import NO_UDFS, Udf, UdfFile, Udfs
from engine.udf.reading import read_udfs
from engine.udf.requirements import needs_of


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled script: its writes, its tables, and its plan, split into a stream part and an epoch part."""

    writes: tuple[Write, ...]
    tables: Mapping[str, Table]
    parts: Parts
    fingerprint: str
    udfs: Udfs = NO_UDFS
    is_fused: bool = False
    """Whether source tasks execute as much of the plan as they can."""
    declared: Mapping[str, Table] = field(default_factory=dict)
    """Tables with all their declared columns."""
    without_prefix: Mapping[str, Table] = field(default_factory=dict)
    """Tables as they are without the sink prefix."""
    translated: tuple[Write, ...] = ()
    """Writes before any rewrite."""

    @property
    def running_parts(self) -> Parts:
        """The parts as they run."""
        return fuse(self.parts) if self.is_fused else self.parts

    @property
    def whole(self) -> WholeBranch | None:
        """Return the branch that runs wholly in the source's tasks, if the whole program does."""
        branch = whole_branch(self.running_parts) if self.is_fused and not self.parts.reads_time else None
        if branch is None:
            return None
        table = self.tables[branch.table]
        if source_kind_of(table).spark_read(table) is not None:
            return None
        sinks = [self.tables[write.table] for write in self.writes]
        return None if any(sink_kind_of(sink).needs_event_time(sink.options) for sink in sinks) else branch

    @property
    def is_for_one_task(self) -> bool:
        """Whether one task does the epoch part, where Spark is on one machine."""
        return self.is_fused and is_for_one_task(self.parts)

    @property
    def column_lineage(self) -> Mapping[str, ColumnLineage]:
        """Return the column lineage of each table that is written."""
        lookups = {name: table.primary_key for name, table in self.tables.items() if table.direction == "lookup"}
        return lineage_of_writes(self.translated, lookups)

    @property
    def scans(self) -> Mapping[str, Scan]:
        """The source tables that are read, each with what is read of it."""
        return {node.table: node for write in self.writes for node in walk(write) if isinstance(node, Scan)}

    @property
    def operators(self) -> tuple[Operator, ...]:
        """Return the stateful operators with their identities, in the order of Spark's operator numbers."""
        return operators_of(self.parts, self.codes)

    @property
    def codes(self) -> Mapping[str, Code]:
        """The code of each of the user's functions that it calls, by name."""
        return {name: _code_of(udf) for name, udf in self.udfs.by_name.items()}

    @property
    def kept_objects(self) -> tuple[tuple[str, str], ...]:
        """The user's aggregates of which objects are kept, each with a text for what can read them."""
        names = keepers_of_objects(self.parts) & self.codes.keys()
        return tuple((name, self.codes[name].of_objects) for name in sorted(names))

    @property
    def dead_letter_tables(self) -> Mapping[str, frozenset[str]]:
        """The sinks that take what cannot be decoded or written, each with the tables that it takes it from."""
        senders: dict[str, frozenset[str]] = {}
        for name in (*self.scans, *(write.table for write in self.writes)):
            if (dead_letter_table := self.tables[name].dead_letter_table) is not None:
                senders[dead_letter_table] = senders.get(dead_letter_table, frozenset()) | {name}
        return senders

    @property
    def target_names(self) -> Mapping[str, tuple[str, ...]]:
        """The places that the script must have to itself, of each table that it writes."""
        written = sorted({*(write.table for write in self.writes), *self.dead_letter_tables})
        tables = [self.tables[name] for name in written]
        return {table.name: tuple(sink_kind_of(table).target_names(table.options)) for table in tables}


def warnings_about(text: str) -> list[LiteralSecretError]:
    """Return warnings of a script that compiles and is not stored: keys in URLs."""
    return keys_in_urls(parse(text))


def compile_script(
    text: str,
    *,
    default_sink: str = "stdout",
    udfs: Sequence[UdfFile] = (),
    connections: str = "",
    may_hold_secrets: bool = True,
    stand_ins: Path | None = None,
) -> Program:
    """Return the program of a script and of the files of functions that it may call, which are read and not run.
    `connections` is the text of an administrator's CREATE CONNECTION statements, which the script may use. With
    `stand_ins` its tables are files of rows in that folder, whatever their connectors. Raises ScriptRefused with
    every complaint there is."""
    functions = read_udfs(udfs)
    script = parse(text)
    with user_functions(functions.user_functions):
        translation = translate(script, default_sink, read_connections(connections) if connections.strip() else {})
    if not may_hold_secrets and (secrets := literal_secrets(script)):
        raise ScriptRefused(secrets)
    tables = translation.tables if translation.sink_prefix is None else _under(translation.sink_prefix, translation)
    if translation.only_shows:
        tables = only_shown(tables, {write.table for write in translation.writes if is_updating(write.input)})
    if stand_ins is not None:
        tables = _with_stand_ins(translation, stand_ins)
    writes = optimize(translation.writes)
    check(writes)
    called = _udfs_called(writes, functions)
    # where a lookup table is, and how it is read, can change under a state: nothing that it said is kept
    described = {name: _describe(table) for name, table in tables.items() if table.direction != "lookup"}
    described |= {f"function {name}": udf.file.digest for name, udf in called.by_name.items()}
    parts, text = split(writes), fingerprint(writes, described)
    program = Program(
        writes,
        tables,
        parts,
        text,
        called,
        declared=tables,
        without_prefix=translation.tables,
        translated=translation.writes,
    )
    _check_pins(program, translation.pins)
    _check_readers(program)
    _check_targets(program)
    return replace(program, tables={name: _narrow(table, program.scans) for name, table in program.tables.items()})


def _under(prefix: SinkPrefix, translation: Translation) -> Mapping[str, Table]:
    tables, complaints = redirected(translation.tables, prefix.text)
    if complaints:
        raise ScriptRefused([SinkPrefixError(error.message, hint=error.hint, at=prefix.at) for error in complaints])
    return tables


def _with_stand_ins(translation: Translation, folder: Path) -> Mapping[str, Table]:
    read = {node.table for write in translation.writes for node in walk(write) if isinstance(node, Scan)}
    used = {name: table for name, table in translation.tables.items() if table.direction != "source" or name in read}
    replaced, complaints = stood_in(used, folder)
    complaints = [*complaints, *unread(folder, read)]
    if complaints:
        raise ScriptRefused(complaints)
    return replaced


def _check_pins(program: Program, pins: Mapping[str, TextPosition]) -> None:
    """Refuse two names for one operator, which several queries of the script share."""
    lost = pins_of(program.writes) - pins_of(program.parts.branches)
    if lost:
        hint = "leave one of the hints out: equal queries share what they keep"
        unused = [HintError(f"id({name}) is the second name of an operator", hint=hint, at=pins[name]) for name in lost]
        raise ScriptRefused(unused)


def _check_readers(program: Program) -> None:
    """Refuse what a table cannot have whose rows come into an epoch from a source of Spark's own."""
    sources = [table for table in map(program.tables.get, program.scans) if table is not None]
    reads = {table.name: read for table in sources if (read := source_kind_of(table).spark_read(table)) is not None}
    if not reads:
        return
    name, read = next(iter(reads.items()))
    if len(reads) < len(sources):
        unread = ", ".join(table.name for table in sources if table.name not in reads)
        message = (
            f"{read.option} of {name} has Spark read it, and Spark reads every table or none; it does not read {unread}"
        )
        raise ScriptRefused([OptionValueError(message, hint=f"leave {read.option} out")])
    if program.parts.closes_windows or program.parts.is_updating:
        message = (
            f"{read.option} of {name} has Spark read it, and Spark cannot read for windows or for rows that change"
        )
        raise ScriptRefused([OptionValueError(message, hint=f"leave {read.option} out: our own reader can")])


def _check_targets(program: Program) -> None:
    """Refuse two tables that write to one place, or one within the other."""
    for (first, names), (second, others) in combinations(program.target_names.items(), 2):
        if (collision := first_collision(names, others)) is not None:
            places = collision[0] if collision[0] == collision[1] else " and ".join(collision)
            message = f"tables {first} and {second} write to the same place: {places}"
            hint = "insert all rows into one table, or give each table a place of its own"
            raise ScriptRefused([SharedTargetError(message, hint=hint)])


def _udfs_called(writes: Sequence[Write], functions: Udfs) -> Udfs:
    """Return the user's functions that the plan calls."""
    names = {name for write in writes for name in functions_of(write)}
    return Udfs({name: udf for name, udf in functions.by_name.items() if name in names})


def _code_of(udf: Udf) -> Code:
    text = udf.file.digest
    if udf.state_version is not None:
        kept = f"state {udf.state_version}"
        return Code(text, kept, kept)
    # objects are stored as bytes; whether another version of a package can read them is unknown
    return Code(text, text, " ".join((text, *needs_of(udf.file))))


def _describe(table: Table) -> str:
    form = "" if table.format is None else _described_options(table.format)
    options = _described_options(table.options, table.options.changeable)
    parts = [table.connector, table.direction, options, form, table.schema, table.metadata]
    parts += [table.primary_key] if table.primary_key else []
    return stable_text(parts)


def _described_options(options: Options | FormatOptions, left_out: frozenset[str] = frozenset()) -> str:
    fields = type(options).model_fields
    defaults = {name for name in options.added if getattr(options, name) == fields[name].default}
    return options.model_dump_json(exclude={*left_out, *defaults})


def _narrow(table: Table, scans: Mapping[str, Scan]) -> Table:
    """Return the source table with only the columns that are decoded: those the plan uses and those its times need."""
    scan = scans.get(table.name)
    if scan is None or table.direction != "source":
        return table
    needed = scan.decoded | frozenset(table.primary_key if scan.is_changes else ())
    return replace(
        narrowed(table, Schema(tuple(field for field in table.schema if field.name in needed))),
        metadata=tuple(pair for pair in table.metadata if pair[0] in needed),
    )
