"""Plan a query for the API: two texts to compare, a graph, and its targets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from engine.jobs.decisions.spec import PlannedQuery
from engine.values.process_endings import SMALL_SCRIPT

if TYPE_CHECKING:
    from engine.compile import Program
    from engine.connectors.kinds import SinkKind


def plan_query(
    query: str, udfs: Sequence[str], connections: str = "", *, may_hold_secrets: bool = False
) -> PlannedQuery:
    """Compile a query, which is stored and shown; UDFs are read, never run. The compiler is imported late, so that the
    server starts sooner."""
    from engine.compile import compile_script  # noqa: PLC0415
    from engine.control.upgrades.plan_meaning import meaning_of  # noqa: PLC0415
    from engine.plan.explain import explain  # noqa: PLC0415
    from engine.udf.declared import name_files  # noqa: PLC0415
    from engine.udf.requirements import check_requirements  # noqa: PLC0415

    files = name_files(udfs)
    check_requirements(files)
    program = compile_script(query, udfs=files, connections=connections, may_hold_secrets=may_hold_secrets)
    names = tuple(name for names in program.target_names.values() for name in names)
    picture = json.loads(explain(program.parts, "json", ids=[operator.id for operator in program.operators]))
    graph = json.dumps({**picture, "tables": list(_tables(program))})
    sinks = dict(_kept(program))
    return PlannedQuery(
        program.fingerprint,
        graph,
        meaning_of(program, files),
        names,
        lasting=tuple((name, program.tables[name].connector) for name, sink in sinks.items() if not _goes_back(sink)),
        takes_back=tuple(name for name, sink in sinks.items() if _goes_back(sink)),
        objects=objects_of(program),
        keeps_state=bool(program.operators),
        paths=tuple(_paths(program)),
    )


def load_compiler() -> None:
    """Plan a small query after the server has started, so that the first deployment does not wait for the compiler."""
    plan_query(SMALL_SCRIPT, ())


def objects_of(program: Program) -> str:
    """Return a short text that identifies what can read the stored objects of a program's functions; empty if none are
    stored."""
    from engine.checkpoints.saved_query import objects_text  # noqa: PLC0415

    return objects_text(program.kept_objects)


def _tables(program: Program) -> Iterator[dict[str, str | None]]:
    """Yield the tables that are read and written, with their public location. A location that contains a secret or a
    variable of the driver's environment is left out."""
    from engine.openlineage.datasets import known_place  # noqa: PLC0415

    for direction, names in (("source", sorted(program.scans)), ("sink", program.target_names)):
        for name in names:
            table = program.tables[name]
            yield {"name": name, "direction": direction, "connector": table.connector, "uri": known_place(table)}


def _paths(program: Program) -> Iterator[str]:
    """Yield the files and directories of the disk that sources and sinks name, also those of rejected records."""
    from engine.openlineage.datasets import known_place  # noqa: PLC0415

    for table in program.tables.values():
        scheme, _, path = (known_place(table) or "").partition("://")
        if scheme == "file":
            yield path
        if table.dead_letter_directory is not None:
            yield str(table.dead_letter_directory)


def _kept(program: Program) -> Iterator[tuple[str, SinkKind]]:
    """Yield the sinks whose rows are stored, not those that only show or discard them."""
    from engine.connectors import sink_kind_of  # noqa: PLC0415

    for name in program.target_names:
        kind = sink_kind_of(program.tables[name])
        if not kind.only_shows and not kind.drops_all:
            yield name, kind


def _goes_back(sink: SinkKind) -> bool:
    """Whether a sink rewinds its output on a restore."""
    return sink.guarantee != "at-least-once" and sink.takes_back
