"""Rehearsal: run the old and the new query over the same input, and compare their output as multisets, on disk.

    savepoint     of the old query, or a copy of the newest epoch of its state
    old/, new/    two copies of it in a scratch directory, with the same end of every table
    run           the old query on old/, then the new query on new/, which takes over the state like an upgrade; sinks
                  only store their rows
    compare       sink by sink, as multisets

State, targets and consumer groups of the pipeline are at most read. A crash leaves only the scratch directory behind.

Compare the rows that two runs wrote to a sink, as multisets, on disk.

    old    (ann, 7) 1    (bob, 2) 1    (bob, 2) -1   (bob, 3) 1
    new    (ann, 8) 1                                (bob, 3) 1
    weight of each row in new minus its weight in old:
           (ann, 7) -1: only in old    (ann, 8) 1: only in new    all others 0: equal

A row that was replaced counts only in its final version. A retraction of an earlier row in only one of the two runs
is a difference, too: the row remains in the other run.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from engine.changes.row_difference import (
    DifferentRow,
    PlayedRange,
    RehearsalReport,
    SinkDifference,
    remarks,
    with_kept_rows,
)
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.restore import restore
from engine.compile import Program
from engine.connectors.rehearsal import WEIGHT, column, rows_directory
from engine.connectors.secret_values import fill_in
from engine.errors import EngineError, RehearsalError, RehearsalFailedError, message_of
from engine.schema import Field, Schema
from engine.spark.jvm.session import close_session, open_session
from engine.spark.read.fixed_ends import FixedEnd, ends_now, fix_ends
from engine.spark.run.lifecycle import run_in
from engine.spark.run.run_spec import PLAIN_SETTINGS, RunSpec, StateUpgrade
from engine.spark.run.stop_control import Control
from engine.spark.upgrade.rehearsal_plan import PlannedRehearsal
from engine.spark.write.targets import sink_directory
from engine.types import is_number
from engine.values.epoch_report import EpochReport


def rehearse_in_new_session(
    planned: PlannedRehearsal,
    scratch: Path,
    control: Control,
    on_step: Callable[[str], None] = lambda _: None,
    *,
    memory: str = "2g",
) -> RehearsalReport:
    """Run a rehearsal with a JVM and Spark of its own, which are started when they are needed."""
    width = planned.running.parallelism
    with ExitStack() as opened:

        def open_spark() -> SparkSession:
            spark = open_session(
                app_name="rehearsal",
                log_dir=scratch / "logs",
                master=f"local[{planned.spec.tasks or width}]",
                parallelism=width,
                memory=memory,
            )
            opened.callback(close_session, spark)
            return spark

        return rehearse(planned, scratch, open_spark, control, on_step)


def rehearse(
    planned: PlannedRehearsal,
    scratch: Path,
    open_spark: Callable[[], SparkSession],
    control: Control,
    on_step: Callable[[str], None] = lambda _: None,
) -> RehearsalReport:
    """Run a rehearsal below `scratch`, which is empty and exclusive. Raise EngineError if a query fails, or on a stop
    request."""
    on_step("copying the savepoint")
    states = {name: scratch / name / "state" for name in ("old", "new")}
    for state in states.values():
        manifest = restore(planned.spec.savepoint, state, allow_replay=True, is_fork=True)
    ends = ends_now(_filled_in(planned.before), StatePaths(states["old"]).checkpoint, planned.name)
    for state in states.values():
        fix_ends(StatePaths(state).checkpoint, ends)
    spark = open_spark()
    rows = {}
    for name, spec in _specs(planned, states).items():
        on_step(f"running the {name} query")
        rows[name] = _run(spark, spec, control, name)
    _check_same_input(rows["old"], rows["new"], ends)
    on_step("comparing the rows")
    try:
        differences = _compare(spark, planned, states, scratch)
    except (PySparkException, Py4JJavaError) as error:
        text = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else message_of(error)
        reason = str(text).partition("\n")[0]
        raise RehearsalFailedError(
            f"the rows cannot be compared: {reason}", hint=f"see that the disk of {scratch.parent} has room"
        ) from error
    return RehearsalReport(
        planned.plan.id,
        manifest.epoch,
        {**rows["new"], **rows["old"]},
        tuple(differences),
        tuple(sorted({*remarks(planned.before), *remarks(planned.after)})),
        {
            table: PlayedRange(manifest.offsets.get(table), None if end.ends is None else dict(end.ends))
            for table, end in ends.items()
        },
    )


def _filled_in(program: Program) -> Program:
    tables = {
        name: replace(
            table,
            options=fill_in(table.options, os.environ),
            format=table.format and fill_in(table.format, os.environ),
        )
        for name, table in program.tables.items()
    }
    return replace(program, tables=tables)


def _specs(planned: PlannedRehearsal, states: Mapping[str, Path]) -> Mapping[str, RunSpec]:
    spec, running = planned.spec, planned.running
    width = running.parallelism
    old = RunSpec(
        planned.name,
        running.sql,
        states["old"],
        parallelism=spec.tasks or width,
        udfs=running.udfs or spec.old_udfs or spec.udfs,
        connections=spec.connections,
        default_sink=spec.default_sink,
        settings=replace(PLAIN_SETTINGS, fuse=spec.fuse),
        is_rehearsal=True,
    )
    wish = StateUpgrade(
        spec.keep_state, spec.reset, accept_loss=planned.plan.id, is_fork=True, hold_back=spec.hold_back
    )
    new = replace(old, sql=spec.sql, state_dir=states["new"], udfs=spec.udfs or running.udfs, upgrade=wish)
    new = replace(new, settings=replace(new.settings, start_from=spec.start_from))
    return {"old": old, "new": new}


def _run(spark: SparkSession, spec: RunSpec, control: Control, name: str) -> Mapping[str, int]:
    """Run a query to the end of its input; return how many rows of each table it has read."""
    read = Counter[str]()

    def note(report: EpochReport) -> None:
        for table, figures in report.tables.items():
            if figures.rows_in is not None:
                read[table] += figures.rows_in

    try:
        outcome = run_in(spark, spec, control, note)
    except EngineError as error:
        raise RehearsalFailedError(f"the {name} query fails: {error.code}: {error.message}", hint=error.hint) from error
    if outcome != "finished":
        raise RehearsalFailedError("the rehearsal was stopped", hint="nothing was compared; play it again")
    return dict(read)


def _check_same_input(old: Mapping[str, int], new: Mapping[str, int], ends: Mapping[str, FixedEnd]) -> None:
    """Raise unless both runs have read the same input."""
    for table in sorted(ends.keys() & old.keys() & new.keys()):
        if old[table] != new[table]:
            raise RehearsalError(
                f"{table} has changed meanwhile: the old query has read {old[table]} rows of it, and the new one "
                f"{new[table]}",
                hint="rehearse while the input that was already read does not change",
            )


def _compare(
    spark: SparkSession, planned: PlannedRehearsal, states: Mapping[str, Path], scratch: Path
) -> list[SinkDifference]:
    written = {
        "old": _kept(planned.before, states["old"]),
        "new": _kept(planned.after, states["new"]),
    }
    differences = []
    for number, sink in enumerate(sorted({*written["old"], *written["new"]})):
        old, new = written["old"].get(sink), written["new"].get(sink)
        if old is None or new is None:
            rows = _count(spark, old or new)
            differences.append(SinkDifference(sink, None if old is None else rows, None if new is None else rows))
            continue
        target = scratch / f"difference-{number}"
        differences.append(compare_tables(spark, sink, old, new, target, planned.spec.examples))
    return differences


def _kept(program: Program, state: Path) -> Mapping[str, KeptTable]:
    """Return the sinks of a program, with the rows that its run has saved of each."""
    kept = with_kept_rows(program)
    return {
        write.table: KeptTable(kept.tables[write.table].schema, rows_directory(sink_directory(state, write.table)))
        for write in program.writes
    }


def _count(spark: SparkSession, table: KeptTable | None) -> int:
    is_there = table is not None and table.directory.is_dir()
    return spark.read.parquet(str(table.directory)).count() if table is not None and is_there else 0


@dataclass(frozen=True, slots=True)
class KeptTable:
    """Rows that a run wrote to a sink, as Parquet files in a directory. Without rows there is no directory."""

    schema: Schema
    directory: Path


def compare_tables(
    spark: SparkSession, sink: str, old: KeptTable, new: KeptTable, scratch: Path, examples: int
) -> SinkDifference:
    """Compare the rows that two runs have saved of a sink. Differences are written to the new folder `scratch`, and
    this many examples are returned."""
    shared = [(field, other) for field in old.schema if (other := new.schema.find(field.name)) is not None]
    common = [(field, other) for field, other in shared if _are_comparable(field, other)]
    old_rows = _rows(spark, old, [field for field, _ in common])
    new_rows = _rows(spark, new, [other for _, other in common])
    result = SinkDifference(
        sink,
        0 if old_rows is None else old_rows.count(),
        0 if new_rows is None else new_rows.count(),
        columns=tuple(field.name for field, _ in common),
        added_columns=tuple(field.name for field in new.schema if old.schema.find(field.name) is None),
        removed_columns=tuple(field.name for field in old.schema if new.schema.find(field.name) is None),
        incomparable_columns=tuple(field.name for field, other in shared if not _are_comparable(field, other)),
    )
    sides = [] if old_rows is None else [old_rows.withColumn(WEIGHT, -F.col(WEIGHT))]
    sides += [] if new_rows is None else [new_rows]
    return _with_differences(spark, result, sides, scratch, examples) if sides else result


def _are_comparable(old: Field, new: Field) -> bool:
    return old.type == new.type or (is_number(old.type) and is_number(new.type))


def _rows(spark: SparkSession, table: KeptTable, fields: Sequence[Field]) -> DataFrame | None:
    """Return the rows with some of the columns, numbered, and their weights; None if there are no rows."""
    if not table.directory.is_dir():
        return None
    places = [table.schema.fields.index(field) for field in fields]
    chosen = [F.col(column(place)).alias(column(number)) for number, place in enumerate(places)]
    return spark.read.parquet(str(table.directory)).select(*chosen, WEIGHT)


def _with_differences(
    spark: SparkSession, result: SinkDifference, sides: Sequence[DataFrame], scratch: Path, examples: int
) -> SinkDifference:
    keys = [column(number) for number in range(len(result.columns))]
    together = sides[0] if len(sides) == 1 else sides[0].unionAll(sides[1])
    different = together.groupBy(*keys).agg(F.sum(WEIGHT).alias(WEIGHT)).where(f"{WEIGHT} <> 0")
    different.write.parquet(str(scratch))
    written = spark.read.schema(different.schema).parquet(str(scratch))
    counts = written.agg(
        F.coalesce(F.sum(F.when(F.col(WEIGHT) < 0, -F.col(WEIGHT))), F.lit(0)).alias("old"),
        F.coalesce(F.sum(F.when(F.col(WEIGHT) > 0, F.col(WEIGHT))), F.lit(0)).alias("new"),
    ).collect()[0]
    named = [F.col(key).alias(name) for key, name in zip(keys, result.columns, strict=True)]
    row = F.to_json(F.struct(*named), {"ignoreNullFields": "false"}) if named else F.lit("{}")
    first = written.orderBy(*keys, WEIGHT).limit(examples).select(row.alias("row"), WEIGHT).collect()
    shown = tuple(DifferentRow(str(found["row"]), found[WEIGHT] > 0, abs(found[WEIGHT])) for found in first)
    return replace(result, only_old=counts["old"], only_new=counts["new"], examples=shown)
