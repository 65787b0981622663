"""Expected effects of a planned change, from measurements and certificates."""

from __future__ import annotations

import json

from sqlalchemy import Connection

from engine.api.http.dry_run import STARTS, certificate_names, upgraded
from engine.changes.expected import Expected, of_restart, of_upgrade
from engine.changes.show import with_expected
from engine.jobs.decisions.spec import ShownUpgrade
from engine.store.jobs import checkpoints, runs
from engine.store.jobs.records import read_record
from engine.store.partitions import certificates


def with_expectations(
    connection: Connection, pipeline_id: str, shown: ShownUpgrade, *, is_other_query: bool
) -> ShownUpgrade:
    """The plan of a change with what is to be expected of it, where it is done and changes anything. `is_other_query`
    says that another state is built."""
    if shown.is_refused or json.loads(shown.content).get("is_same"):
        return shown
    expected = _expected(connection, pipeline_id, shown, is_other_query=is_other_query)
    return shown.with_texts(
        with_expected(shown.text, expected, "text"),
        with_expected(shown.markdown, expected, "markdown"),
        with_expected(shown.content, expected, "json"),
    )


def _expected(connection: Connection, pipeline_id: str, shown: ShownUpgrade, *, is_other_query: bool) -> Expected:
    record = read_record(connection, pipeline_id)
    voided = certificate_names(certificates.would_void_of(connection, pipeline_id, shown.repeated))
    if record.status.state.is_terminal:
        return Expected(None, "the job rests, and has no output that could pause", voided)
    job = record.status.job_id
    reports = checkpoints.latest(connection, job, 1)
    epoch, starts = reports[0].duration if reports else None, runs.starts(connection, job, STARTS)
    if not is_other_query:
        return of_restart(starts, epoch, voided)
    upgrades = runs.upgrade_starts(connection, job, upgraded(connection, pipeline_id), STARTS)
    return of_upgrade(upgrades, starts, epoch, voided)
