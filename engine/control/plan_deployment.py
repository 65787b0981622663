"""Plan a deployment, and refuse what cannot run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engine.control.context import Context
from engine.control.stored_objects import WholeSpec, with_stored
from engine.errors import RequestError, RequestTooLargeError
from engine.jobs import disk
from engine.jobs.decisions.spec import (
    PlannedQuery,
    Spec,
    Upgrade,
)
from engine.values.cluster import refuse_master, refuse_missing_files
from engine.values.run_settings import read_run_settings, refuse_unreachable_state
from engine.values.start_positions import StartPosition

_NOTHING_NAMED = Upgrade()


def refuse_id(name: str) -> None:
    """Refuse a name that could be the id of another pipeline."""
    if disk.is_id(name, "pl"):
        raise RequestError(
            f"{name!r} is what an id of a pipeline looks like, and requests may name either", hint="choose another name"
        )


def plan_of(spec: Spec, context: Context) -> PlannedQuery:
    """Return the plan of a spec; raise if it cannot run."""
    if len(spec.query.encode()) > context.max_query_bytes:
        raise RequestTooLargeError(
            f"the query is longer than {context.max_query_bytes} bytes",
            hint="the setting api.max_query_bytes is the limit",
        )
    settings = read_run_settings(spec.settings)  # refuses what no run would heed
    refuse_master(settings.master)
    refuse_missing_files(settings.cluster)
    planned = context.planner.plan(spec.query, spec.udfs)
    _refuse_own_files(context, planned)
    refuse_unreachable_state(settings, keeps_state=planned.keeps_state)
    return planned


def _refuse_own_files(context: Context, planned: PlannedQuery) -> None:
    """Refuse tables whose files are the control plane's own: a sink would overwrite them, and a source show the tokens
    and keys in them."""
    for path in planned.paths:
        if context.directory.is_own(Path(path)):
            raise RequestError(
                f"{path} is among the control plane's own files", hint="choose a path outside its data directory"
            )


def plan_whole(said: Spec, context: Context) -> tuple[WholeSpec, PlannedQuery]:
    """Return a spec with all shared objects that it uses, and its plan; raise if it cannot run."""
    whole = with_stored(context, said)
    with whole.places_as_sent():
        return whole, plan_of(whole.spec, context)


def check_starts(context: Context, place: Path | None, spec: Spec, wish: Upgrade = _NOTHING_NAMED) -> None:
    """Refuse start positions that a run of a spec, which continues from a state or savepoint, would refuse."""
    context.planner.check_starts(place, spec.query, spec.udfs, starts_of(spec), wish)


def starts_of(spec: Spec) -> Mapping[str, StartPosition]:
    """Return the start positions in a version's settings."""
    return read_run_settings(spec.settings).start_from
