"""Planning as the API does it: two texts to compare, a picture to show, and where it writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from engine.jobs.spec import PlannedQuery

if TYPE_CHECKING:
    from engine.compile import Program


def plan_query(
    query: str, udfs: Sequence[str], connections: str = "", *, may_hold_secrets: bool = False
) -> PlannedQuery:
    """Compile a query, which is kept and shown; UDFs are read, never run. The compiler is loaded late: the server is
    there sooner."""
    from engine.api.plan_meaning import meaning_of  # noqa: PLC0415
    from engine.compile import compile_script  # noqa: PLC0415
    from engine.plan.explain import explain  # noqa: PLC0415
    from engine.udf.declared import name_files  # noqa: PLC0415
    from engine.udf.requirements import check_requirements  # noqa: PLC0415

    files = name_files(udfs)
    check_requirements(files)
    program = compile_script(query, udfs=files, connections=connections, may_hold_secrets=may_hold_secrets)
    names = tuple(name for names in program.target_names.values() for name in names)
    graph = explain(program.parts, "json", ids=[operator.id for operator in program.operators])
    return PlannedQuery(program.fingerprint, graph, meaning_of(program, files), names, tuple(_lasting(program)))


def _lasting(program: Program) -> Iterator[tuple[str, str]]:
    """The sinks that cannot take back what they have written, those aside that only show it or let it go."""
    from engine.connectors import connector_of  # noqa: PLC0415

    for name in program.target_names:
        connector = connector_of(program.tables[name])
        keeps = connector.guarantee == "at-least-once" or not connector.takes_back
        if keeps and not connector.only_shows and not connector.drops_all:
            yield name, connector.name
