"""Begin a new lineage of a pipeline's state: progress is reset, and certificates on the old one are voided, in one
transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from datetime import datetime

from sqlalchemy import Connection

from engine.checkpoints.lineage import new_id, parents_after
from engine.jobs.actors import CONTROL_PLANE, JobRecord
from engine.jobs.decisions.spec import Restore, is_bound_alike
from engine.jobs.decisions.status import JobEvent, Run
from engine.jobs.disk import DataDirectory
from engine.store import savepoints
from engine.store.jobs import checkpoints, events
from engine.store.jobs.checkpoints import History
from engine.store.partitions import certificates, late_batches
from engine.store.partitions.certificates import Certificate
from engine.store.pipelines import versions
from engine.store.pipelines.versions import Plan

_NAMED = 20
"""Largest number of certificates in an event; the list of certificates has all."""


def is_state_given_up(connection: Connection, record: JobRecord) -> bool:
    """Whether a pending request discards the current state: then the progress of the state is no longer promised, even
    if its run has not ended yet."""
    return record.pipeline.id in giving_up_state(connection, [record])


def giving_up_state(connection: Connection, records: Sequence[JobRecord]) -> Set[str]:
    """Return the ids of the pipelines whose next start discards their state, in a fixed number of statements."""
    going_back = {record.pipeline.id for record in records if record.pipeline.restore is not None}
    changing = [
        (record.pipeline.id, record.pipeline.version)
        for record in records
        if record.pipeline.version != record.status.version
    ]
    plans = versions.plans(connection, changing) if changing else {}
    return going_back | {pipeline_id for (pipeline_id, _), plan in plans.items() if plan.force}


def voided_by_requests(
    connection: Connection, records: Sequence[JobRecord], directory: DataDirectory
) -> Mapping[str, Sequence[Certificate]]:
    """Return, for each pipeline, the certificates that a pending request will void: a restore, a version that discards
    the state of another plan, or one with which a source is read from the start. The number of statements does not
    depend on the number of records, except for one per restore."""
    going_back = {record.pipeline.id: record.pipeline.restore for record in records if record.pipeline.restore}
    changing = [record for record in records if record.pipeline.restore is None and _changes_version(record)]
    plans = _plans(connection, changing)
    given_up = _giving_up_plan(plans, changing).keys()
    following = [(record.pipeline.id, plans[record.pipeline.id, record.pipeline.version]) for record in changing]
    repeated = {pipeline_id: plan.repeated for pipeline_id, plan in following if plan.repeated}
    voided = dict(certificates.would_void_each(connection, given_up, repeated)) if given_up or repeated else {}
    for pipeline_id, history in _restored(connection, going_back, directory).items():
        voided[pipeline_id] = certificates.would_void_others(connection, pipeline_id, history)
    return voided


def voided_by_request(connection: Connection, record: JobRecord, directory: DataDirectory) -> Sequence[Certificate]:
    """Return the certificates that the current request of one pipeline would void."""
    return voided_by_requests(connection, [record], directory).get(record.pipeline.id, ())


def begin(connection: Connection, before: JobRecord, at: datetime, directory: DataDirectory) -> None:
    """Delete the epochs of a job whose state is about to be replaced, and void the certificates that this
    invalidates."""
    pipeline, generation = before.pipeline, before.status.generation
    reached, who = before.status.progress.epoch, pipeline.asked_by or CONTROL_PLANE
    checkpoints.forget(connection, pipeline.job_id)
    voided: Sequence[Certificate] = ()
    if pipeline.restore is not None:
        origin = pipeline.restore.of_pipeline or pipeline.id
        epoch = savepoints.get(connection, origin, pipeline.restore.savepoint_id).epoch
        words = f"restored savepoint {pipeline.restore.savepoint_id} (epoch {epoch}; was at {reached})"
        hint = f"what came after epoch {epoch} is computed again"
        events.add(
            connection, JobEvent(pipeline.job_id, at, "warn", words, "state.taken_back", hint, generation, who=who)
        )
        history = _restored(connection, {pipeline.id: pipeline.restore}, directory)[pipeline.id]
        voided = certificates.void_others(connection, pipeline.id, history, at)
        late_batches.forget(connection, pipeline.id, epoch)
        late_batches.forget_others(connection, pipeline.id, history)
    elif _gives_up_plan(connection, before):
        words = f"state of version {before.status.version} discarded (up to epoch {reached})"
        hint = "a copy of it is kept aside; the input that the sources still have is read again"
        events.add(
            connection, JobEvent(pipeline.job_id, at, "warn", words, "state.given_up", hint, generation, who=who)
        )
        voided = certificates.void(connection, pipeline.id, None, at)
        late_batches.forget(connection, pipeline.id, None)
    _tell(connection, pipeline.job_id, generation, voided, who, at)


def begun(connection: Connection, run: Run, history: History, at: datetime) -> None:
    """Void what a new or continued lineage of a run makes invalid from an epoch on: certificates of the same epochs of
    other lineages, or of epochs that are not its ancestors, and those over rows that are repeated since a source is
    read from the start with this version."""
    voided = [*certificates.void_others(connection, run.pipeline_id, history, at)]
    late_batches.forget(connection, run.pipeline_id, history.first_epoch - 1, but_of=history.id)
    late_batches.forget_others(connection, run.pipeline_id, history)
    upgrade = versions.get(connection, run.pipeline_id, run.version).upgrade
    if upgrade is not None and upgrade.repeated:
        voided += certificates.void_of(connection, run.pipeline_id, upgrade.repeated, run.version, at)
    _tell(connection, run.job_id, run.generation, voided, CONTROL_PLANE, at)


def _restored(
    connection: Connection, restores: Mapping[str, Restore], directory: DataDirectory
) -> Mapping[str, History]:
    """Return the lineages that pipelines begin once they are restored."""
    if not restores:
        return {}
    epochs = savepoints.epochs(connection, [restore.savepoint_id for restore in restores.values()])
    histories: dict[str, History] = {}
    for pipeline_id, restore in restores.items():
        last = epochs[restore.savepoint_id]
        epoch = -1 if last is None else last
        saved = directory.savepoint(restore.of_pipeline or pipeline_id, restore.savepoint_id)
        histories[pipeline_id] = History(new_id(), epoch + 1, parents_after(saved, epoch))
    return histories


def _changes_version(record: JobRecord) -> bool:
    return record.status.version is not None and record.status.version != record.pipeline.version


def _gives_up_plan(connection: Connection, record: JobRecord) -> bool:
    return _changes_version(record) and bool(_giving_up_plan(_plans(connection, [record]), [record]))


def _plans(connection: Connection, records: Sequence[JobRecord]) -> Mapping[tuple[str, int], Plan]:
    """Return the plans of the versions that ran last and of those that are to run."""
    pairs = [(record.pipeline.id, number) for record in records for number in _numbers(record)]
    return versions.plans(connection, pairs) if pairs else {}


def _giving_up_plan(plans: Mapping[tuple[str, int], Plan], records: Sequence[JobRecord]) -> Mapping[str, None]:
    """Return the pipelines that discard the state of another plan with their next version."""
    given_up: dict[str, None] = {}
    for record in records:
        before, after = (plans[record.pipeline.id, number] for number in _numbers(record))
        if after.force and not is_bound_alike(before, after):
            given_up[record.pipeline.id] = None
    return given_up


def _numbers(record: JobRecord) -> tuple[int, int]:
    """Return the version that ran last, and the one that is to run."""
    return record.status.version or 0, record.pipeline.version


def _tell(
    connection: Connection, job_id: str, generation: int, voided: Sequence[Certificate], who: str, at: datetime
) -> None:
    if not voided:
        return
    names = [
        f"{certificate.dag_id} {certificate.run_id} (epoch {certificate.epoch}, past {certificate.past.isoformat()})"
        for certificate in voided[:_NAMED]
    ]
    more = f", and {len(voided) - _NAMED} more" if len(voided) > _NAMED else ""
    events.add(
        connection,
        JobEvent(
            job_id,
            at,
            "warn",
            f"{len(voided)} certificates of gates are void: {', '.join(names)}{more}",
            "gate.voided",
            "clear those runs once the pipeline has written their time again",
            generation,
            who=who,
        ),
    )
