"""Planning as the API does it: a fingerprint to compare, a picture to show."""

from __future__ import annotations

from collections.abc import Sequence

from engine.api.context import Planned


def plan_query(query: str, udfs: Sequence[str]) -> Planned:
    """Compile a query. The compiler is loaded at the first call, so that the server is there sooner."""
    from engine.compile import compile_script  # noqa: PLC0415
    from engine.plan.explain import explain  # noqa: PLC0415

    program = compile_script(query)
    return Planned(program.fingerprint, explain(program.parts, "json"))
