"""Instant of a gate: the one that a task sets, or the end of its run's data interval."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from airflow_provider_arroyo.errors import NoDataIntervalError

if TYPE_CHECKING:
    from airflow.sdk import Context


def past_or_end_of_interval(past: datetime | str | None, context: Context, asker: str) -> datetime:
    """The instant `past`, or the end of the run's data interval; a run without one is refused by name."""
    if past is not None:
        return to_instant(past, "past")
    end: datetime | None = context.get("data_interval_end")
    if end is None:
        task = context["ti"]
        raise NoDataIntervalError(
            f"run {task.run_id!r} of DAG {task.dag_id!r} has no data interval, so there is no end of it to wait for",
            hint=f"Give {asker} the instant: past=...",
        )
    return to_instant(end, "data_interval_end")


def to_instant(value: datetime | str, name: str) -> datetime:
    """The value as an aware instant; without a zone it is in UTC."""
    try:
        instant = value if isinstance(value, datetime) else datetime.fromisoformat(value.strip())
    except ValueError:
        raise ValueError(f"{name} is a time like 2026-01-31T05:00:00Z, not {value!r}") from None
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
