"""Planning as the API does it: two texts to compare, a picture to show, and where it writes."""

from __future__ import annotations

from collections.abc import Sequence

from engine.jobs.spec import PlannedQuery


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
    return PlannedQuery(program.fingerprint, graph, meaning_of(program, files), names)
