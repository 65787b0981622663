"""Build OpenLineage events from stored facts and the plan of the version.

Choose the next OpenLineage event of a run, from what was emitted and what is stored.

    nothing emitted               START     at its launch
    launch emitted, it runs       RUNNING
    running emitted               RUNNING   with each new certificate, and with its epoch every few minutes
    it has ended                  COMPLETE, ABORT or FAIL
    there is a later run          START     of that one

Nothing is queued: after an outage, a receiver gets the events that follow from what is stored.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from engine.control.context import Context
from engine.errors import EngineError
from engine.jobs.decisions.effects import least_complete
from engine.jobs.decisions.states import State
from engine.jobs.decisions.status import Failure, Progress, Status
from engine.jobs.decisions.status import Run as Run_status
from engine.jobs.decisions.totals import EmittedRun
from engine.openlineage.datasets import Datasets, JobName, datasets_of
from engine.openlineage.runs import (
    Certificate,
    CertificateFacet,
    EngineFacet,
    EpochFacet,
    ErrorFacet,
    EventType,
    Job,
    Run,
    RunEvent,
    RunFacet,
    RunFacets,
    run_id,
)
from engine.store import openlineage
from engine.store.jobs import runs
from engine.store.partitions.certificates import Certificate as Certificate_certificates
from engine.store.pipelines import pipelines, versions

LOG = logging.getLogger(__name__)
_NOTHING = Datasets(inputs=[], outputs=[])
_WITH_DATASETS = frozenset({"START", "COMPLETE", "ABORT", "FAIL"})
_KEPT = 500
"""Number of versions whose datasets are cached."""


@dataclass(slots=True)
class EventMaker:
    """Builds the events of one control plane."""

    context: Context
    _datasets: dict[tuple[str, int], Datasets] = field(default_factory=dict)

    def make(self, told: EmittedRun, telling: Telling) -> RunEvent:
        """Return the event. The inputs and outputs of a run are reported at its start and end."""
        launched_at, version = told.launched_at, told.version
        with self.context.database.reading() as connection:
            if telling.generation != told.generation:
                run = runs.find(connection, told.job_id, telling.generation)
                if run is not None:
                    launched_at, version = run.launched_at, run.version
            asking_run = openlineage.find_asking_run(connection, told.job_id, launched_at)
        facets = RunFacets(
            processing_engine=EngineFacet(version=self.context.version),
            arroyo_run=RunFacet(pipeline=told.pipeline_id, version=version, generation=telling.generation),
            parent=None if asking_run is None else asking_run.to_facet(),
            arroyo_epoch=_epoch(telling.progress),
            arroyo_certificate=self._certificates(told, telling),
            error=_error(telling.failure),
        )
        datasets = self._of(told, version) if telling.kind in _WITH_DATASETS else _NOTHING
        return RunEvent(
            event_time=telling.at,
            event_type=telling.kind,
            run=Run(id=run_id(told.job_id, telling.generation, launched_at), facets=facets),
            job=Job(namespace=self.context.lineage_namespace, name=told.name),
            inputs=datasets.inputs,
            outputs=datasets.outputs,
        )

    def _certificates(self, told: EmittedRun, telling: Telling) -> CertificateFacet | None:
        if not telling.certificates:
            return None
        return CertificateFacet(
            certificates=[
                Certificate(
                    id=each.id,
                    pipeline=each.pipeline_id,
                    namespace=self.context.lineage_namespace,
                    name=told.name,
                    version=each.version,
                    lineage=each.lineage,
                    epoch=each.epoch,
                    complete_until=each.complete_until,
                )
                for each in telling.certificates
            ]
        )

    def _of(self, told: EmittedRun, number: int) -> Datasets:
        """Return the tables that a version reads and writes; empty if they are no longer known."""
        key = (told.pipeline_id, number)
        if key not in self._datasets:
            while len(self._datasets) >= _KEPT:
                del self._datasets[next(iter(self._datasets))]
            try:
                self._datasets[key] = version_datasets(self.context, told.pipeline_id, told.name, number)
            except EngineError as error:  # the pipeline may be deleted, or what its script names
                LOG.warning("OpenLineage is not told what %s reads and writes: %s", told.name, error)
                return _NOTHING
        return self._datasets[key]


def _epoch(progress: Progress | None) -> EpochFacet | None:
    if progress is None or progress.epoch is None:
        return None
    return EpochFacet(
        epoch=progress.epoch,
        lineage=progress.lineage,
        watermark=progress.watermark,
        complete_until=least_complete(progress),
    )


def _error(failure: Failure | None) -> ErrorFacet | None:
    return None if failure is None else ErrorFacet(message=f"{failure.code}: {failure.message}")


_ENDS: dict[str, EventType] = {"finished": "COMPLETE", "stopped": "ABORT", "failed": "FAIL"}
_ASKED = frozenset({State.STOPPED, State.STOPPING, State.CHECKPOINT_STOPPING, State.RESCALING})
_DIED = Failure("run.died", "the driver has ended without a word")


@dataclass(frozen=True, slots=True)
class Seen:
    """Stored facts: the current run, the next one, and certificates that were not emitted, each with its number and its
    run. Empty for a deleted pipeline."""

    run: Run_status | None = None
    next_run: Run_status | None = None
    status: Status | None = None
    certificates: Sequence[tuple[Certificate_certificates, int, int]] = ()


@dataclass(frozen=True, slots=True)
class Telling:
    """An event, and the record of what has been emitted after it."""

    kind: EventType
    at: datetime
    generation: int
    after: EmittedRun | None
    """None if nothing more will be emitted for the job."""
    progress: Progress | None = None
    certificates: Sequence[Certificate_certificates] = ()
    failure: Failure | None = None


def next_telling(
    told: EmittedRun, seen: Seen, now: datetime, interval: timedelta
) -> Telling | EmittedRun | datetime | None:
    """Return the next event; or the position to continue from, without one; or when there will be one; None if
    something must happen first."""
    run = seen.run
    if told.stage == "new":
        return Telling("START", told.launched_at, told.generation, replace(told, stage="begun"))
    if told.stage != "over" and seen.status is None:
        return Telling("ABORT", now, told.generation, None)
    if (relied_on := _relied_on(told, seen, now)) is not None:
        return relied_on
    if told.stage == "over" or run is None:
        if seen.next_run is None:
            return None
        following = seen.next_run
        return replace(
            told,
            generation=following.generation,
            version=following.version,
            launched_at=following.launched_at,
            stage="new",
            epoch=None,
            told_at=None,
        )
    if told.stage == "begun" and run.running_at is not None:
        return Telling("RUNNING", run.running_at, told.generation, replace(told, stage="up", told_at=run.running_at))
    if run.ended_at is not None:
        return _end(told, run, run.ended_at, seen.status)
    if told.stage == "begun":
        return None
    return _progress(told, seen.status, now, interval)


def _relied_on(told: EmittedRun, seen: Seen, now: datetime) -> Telling | None:
    """Return the certificates of one run that follow each other; those of a run that was not reported wait for it."""
    if not seen.certificates or seen.certificates[0][2] > told.generation:
        return None
    generation, after = seen.certificates[0][2], told
    certificates = list[Certificate_certificates]()
    for certificate, number, of_run in seen.certificates:
        if of_run != generation:
            break
        certificates.append(certificate)
        after = replace(after, certificate=number, certificate_at=certificate.at)
    is_over = generation < told.generation or told.stage == "over"
    return Telling("OTHER" if is_over else "RUNNING", now, generation, after, certificates=certificates)


def _end(told: EmittedRun, run: Run_status, at: datetime, status: Status | None) -> Telling:
    after = replace(told, stage="over")
    is_newest = status is not None and status.generation == run.generation
    progress = status.progress if status is not None and is_newest else None
    failure, goodbye = None, run.goodbye
    if goodbye is not None:
        kind, failure = _ENDS.get(goodbye.outcome, "OTHER"), goodbye.failure
    elif status is not None and is_newest and status.state in _ASKED:
        kind = "ABORT"
    else:
        kind, failure = "FAIL", _DIED
    return Telling(kind, at, told.generation, after, progress, failure=failure)


def _progress(told: EmittedRun, status: Status | None, now: datetime, interval: timedelta) -> Telling | datetime | None:
    if status is None or status.generation != told.generation or status.progress.epoch in (None, told.epoch):
        return None
    due = (told.told_at or told.launched_at) + interval
    if told.told_at is not None and told.told_at <= now < due:
        return due
    after = replace(told, epoch=status.progress.epoch, told_at=now)
    return Telling("RUNNING", now, told.generation, after, status.progress)


def version_datasets(context: Context, pipeline_id: str, name: str, number: int) -> Datasets:
    """Return the tables that a version of a pipeline reads and writes; raise if they are no longer known."""
    from engine.compile import compile_script  # noqa: PLC0415 - the server is there sooner
    from engine.udf.declared import name_files  # noqa: PLC0415

    with context.database.reading() as connection:
        pipelines.get(connection, pipeline_id)
        spec = versions.get(connection, pipeline_id, number).spec
    program = compile_script(spec.query, udfs=name_files(spec.udfs), connections=context.connections)
    return datasets_of(program, JobName(context.lineage_namespace, name))
