"""Prepare a run before Spark starts: compile its script, claim its state directory, and find its state.

script            compiled; secrets are filled in
state directory   claimed, or refused: another run has it, or it is another query's
state             downloaded if it is to be changed or kept elsewhere; uploaded when the query begins

Nothing is changed in the bucket before the query begins.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from engine.changes.row_difference import with_kept_rows
from engine.checkpoints.claim import Claim, StatefulQuery, claim
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.state_moves import (
    bring_state_home,
    is_elsewhere,
    probe_bucket,
    state_prefix,
    sweep_prefixes,
)
from engine.checkpoints.state_pointer import read_pointer
from engine.compile import Program, compile_script
from engine.connectors.base import Table
from engine.connectors.secret_values import fill_in
from engine.errors import StateBusyError
from engine.spark.jvm.s3_jars import s3_jars
from engine.spark.read.history import History
from engine.spark.read.starts import begun_tables, counting_starts, histories_of, unsaid_starts, with_starts
from engine.spark.run.mailbox import Mailbox
from engine.spark.run.run_spec import RunSpec
from engine.udf.requirements import check_requirements
from engine.values.run_settings import refuse_unreachable_state
from engine.values.start_positions import EARLIEST


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A run that may begin: its script is compiled, and its state directory claimed."""

    spec: RunSpec
    program: Program
    claim: Claim
    only_finishes: bool = False
    """Whether the run ends once the epoch that had begun is committed."""
    histories: Mapping[str, History] = field(default_factory=dict)
    """Backfill ranges of tables that were not read yet."""
    mailbox: Mailbox | None = None
    """Where executors that see another disk hand in their files."""

    @property
    def paths(self) -> StatePaths:
        """Return the paths in its state directory."""
        return StatePaths(self.spec.state_dir.absolute())


def prepare(spec: RunSpec) -> PreparedRun:
    """Compile the script and claim the state directory. Raise EngineError if one of them cannot be; nothing is claimed
    then."""
    check_requirements(spec.udfs)
    program = compile_script(
        spec.sql,
        default_sink=spec.default_sink,
        udfs=spec.udfs,
        connections=spec.connections,
        stand_ins=spec.stand_ins,
    )
    refuse_unreachable_state(spec.settings, keeps_state=bool(program.operators))
    # after the script was compiled: what is in the environment is in no fingerprint, and in no file
    program = replace(program, tables=with_secrets(program), is_fused=spec.settings.fuse)
    if spec.is_rehearsal:
        program = with_kept_rows(program)
    claimed = claim(
        StatePaths(spec.state_dir.absolute()),
        query_of(spec, program),
        generation=spec.generation,
        force=spec.force,
        takes_over=spec.upgrade is not None,
        owner=spec.owner,
    )
    prepared = PreparedRun(spec, program, claimed)
    try:
        _settle_state(prepared)
        # after an upgrade, the plan of the upgrade sets the start positions
        return prepared if claimed.is_foreign else begun_run(prepared)
    except BaseException:
        claimed.release()
        raise


def begun_run(prepared: PreparedRun) -> PreparedRun:
    """Return the run with the start positions of its tables, and their backfill ranges."""
    spec, program, begun = prepared.spec, prepared.program, begun_tables(prepared.paths.checkpoint)
    histories = histories_of(program, spec.settings.backfill, begun)
    starts = counting_starts(program, spec.settings.start_from, begun)
    if spec.is_rehearsal:
        # what the old query does not read is read as far as it goes now
        histories = {name: History() for name in program.scans if name not in begun}
        return replace(prepared, program=with_starts(program, starts), histories=histories)
    earliest = dict.fromkeys(unsaid_starts(histories, spec.settings.start_from), EARLIEST)
    return replace(prepared, program=with_starts(program, {**earliest, **starts}), histories=histories)


def query_of(spec: RunSpec, program: Program) -> StatefulQuery:
    """Return the query that the state belongs to."""
    files = tuple((file.name, file.text) for file in spec.udfs)
    return StatefulQuery(spec.name, spec.sql, program.fingerprint, spec.parallelism, files, program.kept_objects)


def with_secrets(program: Program) -> Mapping[str, Table]:
    """Return the tables of a program with the secrets and files that their options name."""
    return {name: _filled_in(table) for name, table in program.tables.items()}


def _filled_in(table: Table) -> Table:
    form = table.format and fill_in(table.format, os.environ).with_files()
    return replace(table, options=fill_in(table.options, os.environ), format=form)


def _settle_state(prepared: PreparedRun) -> None:
    """Download the state to this disk if it is to be changed, or to be stored elsewhere from now on."""
    spec, paths, held = prepared.spec, prepared.paths, prepared.claim
    state_url, pointer = spec.cluster.state_url, read_pointer(paths.checkpoint)
    if state_url is not None and prepared.program.operators:
        if pointer is None and held.lock is None:
            raise _in_use(paths)
        s3_jars(os.environ)
        probe_bucket(state_url)
    if pointer is None or not (held.is_foreign or is_elsewhere(paths, state_url)):
        return
    if held.lock is None:
        raise _in_use(paths)
    bring_state_home(paths)


def _in_use(paths: StatePaths) -> StateBusyError:
    return StateBusyError(
        f"the state in {paths.root} cannot be moved while another run has it",
        hint="nothing is lost: try again when that run has ended",
    )


def begin_state(prepared: PreparedRun) -> str | None:
    """Return the prefix in a bucket that stores the state of the run, after moving the state there; None if it stays on
    this disk."""
    state_url = prepared.spec.cluster.state_url
    if state_url is None or not prepared.program.operators:
        return None
    url = state_prefix(prepared.paths, state_url)
    sweep_prefixes(prepared.paths)
    return url
