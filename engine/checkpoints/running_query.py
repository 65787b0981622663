"""Compile the query of a state or a savepoint again, to compare a new script with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from engine.checkpoints.forms import read_panes
from engine.checkpoints.layout import StatePaths, read_json, unreadable
from engine.checkpoints.manifest import read_manifest
from engine.compile import Program, compile_script
from engine.errors import NoStateError, OtherFormatError, RecompiledError, ScriptRefused
from engine.plan.identity.fingerprint import differ_in_format
from engine.plan.state.panes import with_panes
from engine.udf.declared import UdfFile


@dataclass(frozen=True, slots=True)
class RunningQuery:
    """A script, its fingerprint when it was run, and the number of partitions of its state, which is at `place`. `udfs`
    are its function files, as far as they were recorded."""

    sql: str
    fingerprint: str
    parallelism: int
    place: Path
    udfs: tuple[UdfFile, ...] = ()


def query_of_state(state: Path) -> RunningQuery:
    """Return the query of a state directory; nothing is claimed or changed, so the pipeline may be running."""
    path = StatePaths(state).pipeline
    recorded = read_json(path)
    if recorded is None:
        raise NoStateError(
            f"{state} holds no state of a pipeline", hint="name the directory that a run was given as --state-dir"
        )
    match recorded:
        case {"sql": str(sql), "fingerprint": str(fingerprint), "parallelism": int(parallelism)}:
            return RunningQuery(sql, fingerprint, parallelism, state, _functions(recorded, path))
    raise unreadable(path)


def _functions(recorded: Mapping[str, object], path: Path) -> tuple[UdfFile, ...]:
    """Return the files of functions that a state names; states of earlier engine versions name none."""
    files = recorded.get("udfs", [])
    if not isinstance(files, list) or not all(isinstance(file, list) and len(file) == 2 for file in files):
        raise unreadable(path)
    return tuple(UdfFile(str(name), str(text)) for name, text in files)


def query_of_savepoint(savepoint: Path) -> RunningQuery:
    """Return the query of a savepoint."""
    manifest = read_manifest(savepoint)
    if manifest.sql is None:
        raise NoStateError(
            f"the savepoint {savepoint.name} does not say which script it belongs to",
            hint="it was taken before that was written down: restore it, and name the state directory",
        )
    path = savepoint / StatePaths(savepoint).pipeline.name
    functions = _functions(read_json(path) or {}, path)
    return RunningQuery(manifest.sql, manifest.fingerprint, manifest.parallelism, savepoint, functions)


def compile_running(query: RunningQuery, *, udfs: Sequence[UdfFile] = (), connections: str = "") -> Program:
    """Return the program of a state, with the functions that it names, or else with `udfs`; operators whose state is
    stored by pane are marked. Raise an error if the script no longer compiles to it: the state of its operators would
    be misread."""
    try:
        program = compile_script(query.sql, udfs=query.udfs or udfs, connections=connections)
    except ScriptRefused as error:
        raise RecompiledError(
            f"the script of {query.place} is refused by now: {error.complaints[0].message}",
            hint="give its functions with --old-udf and its connections with --connections",
        ) from error
    if program.fingerprint == query.fingerprint:
        by_pane = read_panes(StatePaths(query.place).checkpoint)
        return replace(program, parts=with_panes(program.parts, by_pane, program.operators))
    if differ_in_format(query.fingerprint, program.fingerprint):
        raise OtherFormatError(
            f"the state in {query.place} was written by another version of the engine",
            hint="go on with that version, or start empty with --force, which keeps the old state aside",
        )
    raise RecompiledError(
        f"the script of {query.place} does not give the query that its state is of: "
        "it was run with other functions or connections, or by another version of the engine",
        hint="give the functions that it was run with as --old-udf, and its connections as --connections",
    )
