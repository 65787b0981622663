"""Build OpenLineage events from stored facts and the plan of the version."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from engine.api.lineage_events.due import Telling
from engine.api.pipelines.lineage import version_datasets
from engine.control.context import Context
from engine.errors import EngineError
from engine.jobs.decisions.effects import least_complete
from engine.jobs.decisions.status import Failure, Progress
from engine.jobs.decisions.totals import ToldRun
from engine.openlineage.datasets import Datasets
from engine.openlineage.runs import (
    Certificate,
    CertificateFacet,
    EngineFacet,
    EpochFacet,
    ErrorFacet,
    Job,
    Run,
    RunEvent,
    RunFacet,
    RunFacets,
    run_id,
)
from engine.store.jobs import runs
from engine.store.openlineage import asking_runs

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

    def make(self, told: ToldRun, telling: Telling) -> RunEvent:
        """The event. What a run reads and writes is told at its begin and its end."""
        launched_at, version = told.launched_at, told.version
        with self.context.database.reading() as connection:
            if telling.generation != told.generation:
                run = runs.find(connection, told.job_id, telling.generation)
                if run is not None:
                    launched_at, version = run.launched_at, run.version
            asking_run = asking_runs.find(connection, told.job_id, launched_at)
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

    def _certificates(self, told: ToldRun, telling: Telling) -> CertificateFacet | None:
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

    def _of(self, told: ToldRun, number: int) -> Datasets:
        """Return the tables that a version reads and writes; empty if that is no longer known."""
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
