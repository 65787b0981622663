"""Set the retention of a pipeline's savepoints, and delete the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow_provider_arroyo import requests, retention
from airflow_provider_arroyo.durations import to_optional_duration
from airflow_provider_arroyo.operators.base import PipelineOperator
from airflow_provider_arroyo.retention import PruneAnswer, RetentionRules

if TYPE_CHECKING:
    from airflow.sdk import Context


class SavepointRetentionOperator(PipelineOperator):
    """Set the retention of a pipeline's savepoints, and delete the others, except pinned ones and those in use.

    The rules stay in force until others are set. Retries retain the same savepoints. The result and the log list every
    savepoint, whether it is deleted, and why; after a retry, only the remaining ones.

    :param pipeline: name or id of the pipeline (templated).
    :param keep_last: retain this number of the newest savepoints (templated).
    :param daily: retain the last savepoint of each of this number of days, not counting days without one (templated).
    :param weekly: retain the last savepoint of each of this number of weeks, not counting weeks without one
        (templated).
    :param max_age: delete savepoints that are older.
    :param upgrades_for: how long to retain savepoints that were taken before an upgrade; None forever.
    :param time_zone: time zone of days and weeks (templated).
    :param once: apply these rules once, and keep the pipeline's own rules; without any rule, apply the pipeline's own.
    :param dry_run: only list what would be deleted, and change nothing.
    """

    template_fields: Sequence[str] = (*PipelineOperator.template_fields, "keep_last", "daily", "weekly", "time_zone")

    def __init__(
        self,
        *,
        pipeline: str,
        keep_last: int | str | None = None,
        daily: int | str | None = None,
        weekly: int | str | None = None,
        max_age: timedelta | float | None = None,
        upgrades_for: timedelta | float | None = None,
        time_zone: str = "UTC",
        once: bool = False,
        dry_run: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(pipeline=pipeline, **kwargs)
        self.keep_last = keep_last
        self.daily = daily
        self.weekly = weekly
        self.max_age = to_optional_duration(max_age, "max_age")
        self.upgrades_for = to_optional_duration(upgrades_for, "upgrades_for")
        self.time_zone = time_zone
        self.once = once
        self.is_dry_run = dry_run  # Airflow's own operators have a method `dry_run`

    def execute(self, context: Context) -> dict[str, Any]:
        """Set the rules, and apply them."""
        pipeline = self.send(requests.get_pipeline(self.pipeline)).id
        self.note(context, pipeline)
        rules = RetentionRules(
            _count(self.keep_last),
            _count(self.daily),
            _count(self.weekly),
            self.max_age,
            self.upgrades_for,
            self.time_zone,
        )
        named = rules if rules.to_json() else None
        if named is not None and not self.once and not self.is_dry_run:
            self.send(retention.set_retention(pipeline, named))
        answer = self.send(retention.prune_savepoints(pipeline, named, dry_run=self.is_dry_run))
        self.log.info("Kept and deleted savepoints:\n%s", table(answer))
        return {"pipeline_id": pipeline, **asdict(answer), "fates": [asdict(fate) for fate in answer.fates]}


def table(answer: PruneAnswer) -> str:
    """Return a table with the fate of each savepoint, oldest first."""
    goes = "would go" if answer.dry_run else "deleted"
    fates = [(fate.id, goes if fate.goes else "stays", fate.reason) for fate in answer.fates]
    rows = [("SAVEPOINT", "", "WHY"), *fates]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [f"{name:{widths[0]}}  {what:{widths[1]}}  {why}" for name, what, why in rows]
    return "\n".join(
        (*lines, f"size of those {'that would go' if answer.dry_run else 'deleted'}: {answer.bytes} bytes")
    )


def _count(number: int | str | None) -> int | None:
    """Return a number that may come from a template; None for an empty one."""
    return None if number is None or str(number).strip() in ("", "None") else int(number)
