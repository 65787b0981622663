"""Planning as the API does it: a fingerprint to compare, a picture to show."""

from __future__ import annotations

from collections.abc import Sequence

from engine.api.context import Planned
from engine.errors import UnsupportedClauseError


def plan_query(query: str, udfs: Sequence[str]) -> Planned:
    """Compile a query. The compiler is loaded at the first call, so that the server is there sooner."""
    from engine.compile import compile_script  # noqa: PLC0415
    from engine.plan.explain import explain  # noqa: PLC0415

    if udfs:
        raise UnsupportedClauseError("UDFs are not built yet", hint="express it with the functions there are")
    program = compile_script(query)
    return Planned(program.fingerprint, explain(program.parts, "json"))
