"""Requests about the retention of savepoints, and their responses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from airflow_provider_arroyo.requests import ApiCall, Json, fresh_key, path_of
from airflow_provider_arroyo.responses import read


@dataclass(frozen=True, slots=True)
class RetentionRules:
    """Retention of a pipeline's savepoints; all fields None means no rules."""

    keep_last: int | None = None
    daily: int | None = None
    weekly: int | None = None
    max_age: timedelta | None = None
    upgrades_for: timedelta | None = None
    time_zone: str = "UTC"

    def to_json(self) -> dict[str, Json]:
        """Return the request body; empty without a rule."""
        counts: dict[str, Json] = {"keep_last": self.keep_last, "daily": self.daily, "weekly": self.weekly}
        ages = {"max_age_micros": self.max_age, "upgrades_for_micros": self.upgrades_for}
        micros = {name: None if age is None else age // timedelta(microseconds=1) for name, age in ages.items()}
        rules = {name: rule for name, rule in {**counts, **micros}.items() if rule is not None}
        return {**rules, "time_zone": self.time_zone} if rules else {}


@dataclass(frozen=True, slots=True)
class SavepointFate:
    """Whether a savepoint is retained or deleted, and why."""

    id: str
    goes: bool
    reason: str


@dataclass(frozen=True, slots=True)
class PruneAnswer:
    """Result for each savepoint of a pipeline, oldest first, and the size of the deleted ones."""

    dry_run: bool
    fates: tuple[SavepointFate, ...] = ()
    bytes: int = 0


def set_retention(pipeline: str, rules: RetentionRules) -> ApiCall[object]:
    """Set which of a pipeline's savepoints are retained, now and later."""
    path = f"{path_of(pipeline)}/savepoint-retention"
    return ApiCall("PUT", path, lambda answer: answer, body=rules.to_json(), key=fresh_key())


def prune_savepoints(
    pipeline: str, rules: RetentionRules | None = None, *, dry_run: bool = False
) -> ApiCall[PruneAnswer]:
    """Delete the savepoints that these rules, or the pipeline's own, do not retain; or only list them."""
    body = None if rules is None else rules.to_json()
    path, query = f"{path_of(pipeline)}/savepoints/prune", {"dry_run": "true" if dry_run else "false"}
    return ApiCall("POST", path, partial(read, PruneAnswer), query=query, body=body, key=fresh_key())
