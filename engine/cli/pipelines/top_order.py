"""In which order `arroyo top` shows pipelines: by each column the worst, or the most, is first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.cli.client import Json
from engine.jobs.decisions.states import State

WORST = "worst"
_FIELDS = {
    "lag": "lag_micros",
    "complete": "complete_until",
    "rows": "rows_per_second",
    "restarts": "restarts",
    "cpu": "cpu_cores",
    "memory": "memory_bytes",
}
ORDERS: tuple[str, ...] = (WORST, "name", "state", *_FIELDS)
"""What can be sorted by, as `--sort` names it."""
_RANKS = (
    *(State.FAILED, State.RECOVERING, State.RESCALING, State.SCHEDULING, State.STOPPING, State.CHECKPOINT_STOPPING),
    *(State.CREATED, State.RUNNING, State.STOPPED, State.FINISHED),
)


def ordered(rows: Sequence[Mapping[str, Json]], order: str, *, is_reversed: bool) -> list[Mapping[str, Json]]:
    """The rows in an order. Those that have nothing in its column come last, reversed or not."""
    by_name = sorted(rows, key=lambda row: str(row.get("name")))
    if order == WORST:
        by_lag = ordered(by_name, "lag", is_reversed=is_reversed)
        return sorted(by_lag, key=_rank, reverse=is_reversed)
    if order == "name":
        return by_name[::-1] if is_reversed else by_name
    if order == "state":
        return sorted(by_name, key=_rank, reverse=is_reversed)
    field = _FIELDS[order]
    known = [row for row in by_name if _number(row, field) is not None]
    unknown = [row for row in by_name if _number(row, field) is None]
    most_first = order != "complete"  # the earliest is the worst
    return [*sorted(known, key=lambda row: _number(row, field) or 0, reverse=most_first != is_reversed), *unknown]


def _number(row: Mapping[str, Json], field: str) -> float | None:
    value = row.get(field)
    return value if isinstance(value, int | float) else None


def _rank(row: Mapping[str, Json]) -> int:
    """Return how bad a state is; a state of a newer control plane ranks with failures."""
    state = row.get("state")
    return _RANKS.index(State(state)) if isinstance(state, str) and state in set(State) else 0
