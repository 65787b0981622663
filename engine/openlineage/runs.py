"""OpenLineage events of a run.

START       the driver is started                    inputs, outputs, arroyo_run, parent
RUNNING     it is running; later with its epoch      arroyo_epoch
RUNNING     a DAG run relies on an epoch of it       arroyo_certificate
COMPLETE    its input has ended
ABORT       it was stopped, also for an upgrade
FAIL        it has failed, or died                   errorMessage
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Literal
from uuid import UUID

from pydantic import Field

from engine.openlineage.datasets import PRODUCER, SCHEMAS, Dataset, Facet, Shape

_SPEC = "https://openlineage.io/spec"
_FACETS = f"{_SPEC}/facets"
EventType = Literal["START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"]


class JobTypeFacet(Facet):
    """Type of a pipeline's job."""

    schema_url: str = Field(
        default=f"{_FACETS}/2-0-3/JobTypeJobFacet.json#/$defs/JobTypeJobFacet",
        alias="_schemaURL",
        description="What describes this facet.",
    )
    processing_type: Literal["STREAMING"] = Field(
        default="STREAMING", alias="processingType", description="Whether it has an end."
    )
    integration: str = Field(default="ARROYO", description="Who runs it.")
    job_type: str = Field(default="PIPELINE", alias="jobType", description="What that calls it.")


class EngineFacet(Facet):
    """Processing engine."""

    schema_url: str = Field(
        default=f"{_FACETS}/1-1-1/ProcessingEngineRunFacet.json#/$defs/ProcessingEngineRunFacet",
        alias="_schemaURL",
        description="What describes this facet.",
    )
    version: str = Field(description="Its version.")
    name: str = Field(default="arroyo", description="Its name.")


class ErrorFacet(Facet):
    """Error of a failed run."""

    schema_url: str = Field(
        default=f"{_FACETS}/1-0-1/ErrorMessageRunFacet.json#/$defs/ErrorMessageRunFacet",
        alias="_schemaURL",
        description="What describes this facet.",
    )
    message: str = Field(description="What went wrong, after the code of the error.")
    programming_language: str = Field(
        default="SQL", alias="programmingLanguage", description="What the job is written in."
    )


class RunFacet(Facet):
    """Number of the run of a pipeline."""

    schema_url: str = Field(
        default=f"{SCHEMAS}/ArroyoRunFacet.json#/$defs/ArroyoRunFacet",
        alias="_schemaURL",
        description="What describes this facet.",
    )
    pipeline: str = Field(description="The id of the pipeline.")
    version: int = Field(description="The version that runs.")
    generation: int = Field(description="The number of the run, one more at every start of the pipeline.")


class ParentRunId(Shape):
    """Id of a parent run."""

    run_id: UUID = Field(alias="runId", description="What the run is known by.")


class ParentJob(Shape):
    """Job of a parent run."""

    namespace: str = Field(description="The namespace of the job.")
    name: str = Field(description="What the job is called.")


class RootRun(Shape):
    """The root run, such as that of a whole DAG."""

    run: ParentRunId = Field(description="The run.")
    job: ParentJob = Field(description="The job that it is a run of.")


class ParentFacet(Facet):
    """The run that has requested this one, such as that of an Airflow task."""

    schema_url: str = Field(
        default=f"{_FACETS}/1-2-0/ParentRunFacet.json#/$defs/ParentRunFacet",
        alias="_schemaURL",
        description="What describes this facet.",
    )
    run: ParentRunId = Field(description="The run.")
    job: ParentJob = Field(description="The job that it is a run of.")
    root: RootRun | None = Field(default=None, description="The run that all of it is a part of, if it is known.")


class EpochFacet(Facet):
    """Progress of a run."""

    schema_url: str = Field(
        default=f"{SCHEMAS}/ArroyoEpochRunFacet.json#/$defs/ArroyoEpochRunFacet",
        alias="_schemaURL",
        description="What describes this facet.",
    )
    epoch: int = Field(description="The newest committed epoch.")
    lineage: str | None = Field(description="The history of the state that the epoch belongs to.")
    watermark: datetime | None = Field(description="The watermark of what is written.")
    complete_until: datetime | None = Field(description="How far the output of all sinks is complete.")


class Certificate(Shape):
    """An epoch that a DAG run relies on."""

    id: str = Field(description="The certificate, as the control plane keeps it.")
    pipeline: str = Field(description="The id of the pipeline.")
    namespace: str = Field(description="The namespace of the job.")
    name: str = Field(description="What the job is called.")
    version: int | None = Field(description="The version that ran.")
    lineage: str | None = Field(description="The history of the state.")
    epoch: int | None = Field(description="The epoch.")
    complete_until: datetime = Field(description="How far the output was complete then.")


class CertificateFacet(Facet):
    """Epochs of a run that others rely on; the DAG runs report the same certificates."""

    schema_url: str = Field(
        default=f"{SCHEMAS}/ArroyoCertificateRunFacet.json#/$defs/ArroyoCertificateRunFacet",
        alias="_schemaURL",
        description="What describes this facet.",
    )
    certificates: Sequence[Certificate] = Field(description="The certificates.")


class RunFacets(Shape):
    """Facets of a run."""

    processing_engine: EngineFacet = Field(description="What computes it.")
    arroyo_run: RunFacet = Field(description="Which run it is.")
    parent: ParentFacet | None = Field(default=None, description="What has asked for it.")
    arroyo_epoch: EpochFacet | None = Field(default=None, description="How far it has come.")
    arroyo_certificate: CertificateFacet | None = Field(default=None, description="Who relies on it.")
    error: ErrorFacet | None = Field(default=None, alias="errorMessage", description="Why it has failed.")


class Run(Shape):
    """A run of a job."""

    id: UUID = Field(alias="runId", description="What it is known by.")
    facets: RunFacets = Field(description="What is known of it.")


class JobFacets(Shape):
    """Facets of a job."""

    job_type: JobTypeFacet = Field(default=JobTypeFacet(), alias="jobType", description="What kind it is.")


class Job(Shape):
    """A pipeline."""

    namespace: str = Field(description="Its namespace.")
    name: str = Field(description="Its name.")
    facets: JobFacets = Field(default=JobFacets(), description="What is known of it.")


class RunEvent(Shape):
    """An event of a run."""

    event_time: datetime = Field(alias="eventTime", description="When.")
    producer: str = Field(default=PRODUCER, description="Who tells it.")
    schema_url: str = Field(
        default=f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent", alias="schemaURL", description="What describes it."
    )
    event_type: EventType = Field(alias="eventType", description="What has happened.")
    run: Run = Field(description="To which run.")
    job: Job = Field(description="The job of the run.")
    inputs: Sequence[Dataset] = Field(default=(), description="What it reads.")
    outputs: Sequence[Dataset] = Field(default=(), description="What it writes.")

    def to_json(self) -> str:
        """Return the event as it is sent: on one line."""
        return self.model_dump_json(by_alias=True, exclude_none=True)


class ParentRun(Shape):
    """A parent run, or a run that this one depends on, as Airflow's OpenLineage provider reads it in an event."""

    namespace: str = Field(alias="parentJobNamespace", description="The namespace of the job.")
    name: str = Field(alias="parentJobName", description="What the job is called.")
    run_id: UUID = Field(alias="parentRunId", description="What the run is known by.")


@dataclass(frozen=True, slots=True)
class AskingRun:
    """The run that has requested a change of a pipeline, and its parent run, if known."""

    run: ParentRun
    root: ParentRun | None = None

    def to_facet(self) -> ParentFacet:
        """Return the parent facet of a run."""
        root = None if self.root is None else RootRun(run=_run_of(self.root), job=_job_of(self.root))
        return ParentFacet(run=_run_of(self.run), job=_job_of(self.run), root=root)


def _run_of(parent: ParentRun) -> ParentRunId:
    return ParentRunId(run_id=parent.run_id)


def _job_of(parent: ParentRun) -> ParentJob:
    return ParentJob(namespace=parent.namespace, name=parent.name)


def run_id(job_id: str, generation: int, launched_at: datetime) -> UUID:
    """Return the id of a run: stable, and ordered by launch time (UUID version 7)."""
    millis = int(launched_at.timestamp() * 1000) & (2**48 - 1)
    rest = int.from_bytes(sha256(f"{job_id}/{generation}".encode()).digest()[:10])
    number = millis << 80 | rest
    number = number & ~(0xF << 76) | 0x7 << 76
    return UUID(int=number & ~(0x3 << 62) | 0x2 << 62)
