"""Response models of the API, and their construction from records."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, Field, computed_field, create_model

from engine.api.http.bodies import Udf
from engine.control.savepoints.savepoint_holds import SavepointTask as DoneTask
from engine.control.savepoints.savepoint_holds import TaskKind
from engine.errors import Cause, DiskFullError
from engine.jobs.actors import JobRecord
from engine.jobs.decisions.effects import Effects as WhatHappens
from engine.jobs.decisions.effects import Gate, GateTime, holder, is_passed, least_complete, promised
from engine.jobs.decisions.intend import is_settled
from engine.jobs.decisions.spec import ShownUpgrade, Version
from engine.jobs.decisions.states import STATES, State, StopMode
from engine.jobs.decisions.status import Failure, JobEvent
from engine.jobs.decisions.totals import rate
from engine.jobs.disk import DataDirectory
from engine.jobs.processes.process_usage import SharedWith
from engine.openlineage.runs import ParentRun
from engine.store.jobs.events import StoredEvent
from engine.store.partitions.certificates import Certificate as StoredCertificate
from engine.store.pipelines.versions import Outline
from engine.store.savepoints import Savepoint as StoredSavepoint
from engine.values.epoch_report import FIGURES, EpochReport, HeldBy, SinkProgress, to_wire
from engine.values.instants import to_micros

T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    """A page of a list, and whether there is more."""

    data: list[T]
    has_more: bool = Field(default=False, description="Whether the list goes on.")

    @computed_field(alias="hasMore", description="The same, as clients of Arroyo's API spell it.")
    def goes_on(self) -> bool:
        """Return the second spelling of `has_more`."""
        return self.has_more


class Log(Page[str]):
    """Output lines of drivers."""

    cursor: str = Field(description="Where these lines end; sent as `after`, it asks for the lines that follow.")
    over: bool = Field(description="Whether no more will come: all was read, and the job rests.")


class Output(Page[dict[str, Any]]):
    """Rows of a preview sink."""

    cursor: str = Field(description="Where these rows end; sent as `after`, it asks for the rows that follow.")
    missed: int = Field(description="How many rows after the cursor were let go before they were asked for.")
    over: bool = Field(description="Whether no more will come: all was read, and the job rests.")


class Certificate(BaseModel):
    """An epoch that a DAG run relies on, after it has passed a gate. It is stored, and named by events that void it."""

    id: str
    pipeline_id: str = Field(description="The pipeline whose output it is about.")
    version: int | None = Field(description="The version that ran.")
    lineage: str | None = Field(description="The history of the state that it stands on.")
    epoch: int | None = Field(description="The newest committed epoch then.")
    past: int = Field(description="The instant that was waited for.")
    complete_until: int = Field(description="How far the output was complete then.")
    table: str | None = Field(description="The sink that was waited for; null for all of them.")
    by: GateTime = Field(description="Whether by input or by output time.")
    dag_id: str = Field(description="The DAG that waited.")
    run_id: str = Field(description="Its run.")
    at: int = Field(description="When the gate was passed.")
    voided_at: int | None = Field(description="When a restore, or a version with force, made it void.")
    offsets: dict[str, Any] | None = Field(
        description="The position in each partition of each source table up to which that epoch has read the input; "
        "null when it is no longer stored."
    )
    openlineage: ParentRun | None = Field(
        default=None,
        description="The run of the pipeline that has made that epoch, as OpenLineage knows it. Null when it is "
        "no longer stored, and in the certificates that a request voids.",
    )


class TableUse(BaseModel):
    """A table that a pipeline reads or writes."""

    name: str = Field(description="What the script calls it.")
    direction: Literal["source", "sink"] = Field(description="Whether it is read or written.")
    connector: str = Field(description="What it is read or written with.")
    uri: str | None = Field(
        description="Its place as others name it: `file:`, `s3:`, `kafka:`. Null where it has none, or only its driver "
        "knows it."
    )


class PipelineFacts(BaseModel):
    """Short facts of a pipeline, and the state of its job."""

    id: str = Field(description="What names the pipeline for good.")
    name: str = Field(description="What its owner calls it.")
    version: int = Field(description="The number of its newest version.")
    udfs: list[Udf] = Field(description="The Python files of functions that the query may use.")
    settings: dict[str, str] = Field(description="The settings of its runs.")
    parallelism: int = Field(description="How many tasks run in parallel.")
    checkpoint_interval_micros: int | None = Field(description="The least time from one epoch to the next.")
    stop: StopMode = Field(description="How its job is to stop; `none` lets it run.")
    stopped_by: str | None = Field(description="Who has asked for that stop; null while it is to run.")
    stopped_at: int | None = Field(description="When that was.")
    created_at: int = Field(description="When it was deployed first.")
    state: State = Field(description="Where its job stands.")
    settled: bool = Field(description="Whether nothing that was asked for is still to come.")
    action: StopMode | None = Field(description="The stop mode that a button would ask for.")
    action_text: str = Field(description="What such a button would say.")
    action_in_progress: bool = Field(description="Whether the job is on its way to another state.")
    graph: dict[str, Any] = Field(
        description="The plan, as nodes and edges; `key_type` and `value_type` of an edge are empty: they are "
        "not known."
    )
    preview: bool = Field(
        default=False, description="Whether it is a preview, which ends and is deleted when no client reads it."
    )
    state_url: None = Field(default=None, description="Always null: a pipeline begins with no state of another one's.")
    tags: dict[str, str] = Field(
        default={}, description="Labels that its owner groups pipelines by; a value may be empty."
    )
    tables: list[TableUse] | None = Field(
        default=None, description="What its newest version reads and writes; null where an earlier version was planned."
    )
    fingerprint: str = Field(description="What the state is bound to.")
    digest: str = Field(description="The same for deployments that say the same.")
    job_id: str = Field(description="Its job.")
    state_dir: str = Field(description="The directory of its state.")
    complete_until: int | None = Field(description="How far all its sinks are complete; null while it is not known.")
    not_undone: str | None = Field(
        default=None, description="Why the failed upgrade was not rolled back automatically."
    )
    voids: list[Certificate] = Field(
        description="The certificates that go with what was asked for and is not done yet: a restore, or force."
    )


class Pipeline(PipelineFacts):
    """A pipeline, and the state of its job."""

    query: str = Field(description="The SQL text of the newest version.")


class DeployedPipeline(Pipeline):
    """A pipeline after a deployment."""

    unchanged: bool = Field(
        description="Whether its newest version means the same already: then no version is made, and its text stays."
    )
    remarks: list[str] = Field(default=[], description="Parts of the request that have no effect, and why.")


ErrorDomain = Literal["user", "external", "internal"]


class FailureReason(BaseModel):
    """Reason of a job's failure."""

    error: str = Field(description="What is wrong.")
    domain: ErrorDomain = Field(
        description="Where that comes from: `user` for a mistake, `external` for an outage of another system, and "
        "`internal` for all else, and if unknown."
    )


class Job(BaseModel):
    """Job of a pipeline on the control plane."""

    id: str
    pipeline_id: str = Field(description="Its pipeline.")
    running_desired: bool = Field(description="Whether it is to run.")
    settled: bool = Field(description="Whether nothing that was asked for is still to come.")
    state: State = Field(description="Where it stands.")
    step: str | None = Field(
        description="What the start of that run, or a rescale, is doing now; null in other states, unless the job is "
        "blocked and does not run."
    )
    run_id: int = Field(description="The number of its newest run; one more at every start.")
    start_time: int | None = Field(description="When that run was started.")
    finish_time: int | None = Field(description="When the job came to rest.")
    tasks: int | None = Field(description="The parallelism of the newest run.")
    failure_message: str | None = Field(description="Why it failed last, or what blocks it now.")
    failure_code: str | None = Field(description="The code of that error.")
    failure_hint: str | None = Field(description="What to do about it.")
    failure_reason: FailureReason | None = Field(description="The same failure, as Arroyo says it.")
    scheduler_config: dict[str, Any] = Field(default={}, description="Always empty: there is no scheduler.")
    env_vars: dict[str, str] = Field(default={}, description="Always empty: a job has no environment of its own.")
    failure_cause: Literal["outage", "mistake", "unknown"] | None = Field(
        description="What is behind the failure: an outage is waited out, a mistake is never tried again, and what is "
        "unknown is tried some times."
    )
    blocked: bool = Field(
        default=False,
        description="Whether that failure is one of the control plane's and lasts: it cannot store what the job "
        "reports, or cannot take the job's next step. It goes once it can.",
    )
    restarts: int = Field(description="Starts after failures in a row since the last healthy run.")
    restarts_total: int = Field(description="Starts after failures in all.")
    restart_code: str | None = Field(description="The code of the failure that the last of them was for.")
    watermark: int | None = Field(
        description="That of the newest committed epoch; null while its state is to be given up."
    )
    sinks: dict[str, SinkProgress] = Field(description="How far the output of each sink is complete.")
    epoch: int | None = Field(description="The newest committed epoch.")
    created_at: int = Field(description="When the pipeline was deployed first.")
    shared_java: SharedWith | None = Field(
        description="The Java that its run shares with other pipelines; null where it has its own, "
        "or has not looked yet."
    )


class CommittedEpoch(BaseModel):
    """Fields of a committed epoch besides its figures."""

    epoch: int = Field(description="Its number.")
    backend: str = "spark"
    checkpoint_type: str = "scheduled"
    start_time: int = Field(description="When it began.")
    finish_time: int = Field(description="When it was committed.")
    since_previous_micros: int | None = Field(
        description="Time since the epoch before was committed; null for the oldest epoch that is kept."
    )
    rows_per_second: float | None = Field(
        description="Rows read, for each second since the epoch before was committed; null where that is not known."
    )
    events: list[dict[str, Any]] = []


_FIGURES: dict[str, Any] = {
    declared.name: (declared.annotation, Field(description=declared.figure.meaning))
    for declared in FIGURES
    if declared.name in declared.shown_as and declared.name not in CommittedEpoch.model_fields
}
Checkpoint = create_model("Checkpoint", __base__=CommittedEpoch, __doc__="A committed epoch.", **_FIGURES)
"""A committed epoch with all its figures."""


class SavepointTask(BaseModel):
    """Operation on a savepoint."""

    kind: TaskKind = Field(description="What.")
    at: int = Field(description="When it was asked for.")
    state: Literal["running", "done", "failed"] = Field(description="What has become of it.")
    message: str | None = Field(description="The result, or why there is none.")


class Savepoint(BaseModel):
    """A stored copy of a checkpoint."""

    id: str
    pipeline_id: str = Field(description="Its pipeline.")
    label: str | None = Field(description="What its owner calls it.")
    state: Literal["pending", "completed", "failed"] = Field(description="What has become of taking it.")
    epoch: int | None = Field(description="The last epoch that it holds.")
    watermark: int | None = Field(description="How far the output is complete at that epoch.")
    parallelism: int | None = Field(description="The parallelism of the state that it holds.")
    path: str = Field(description="Its directory.")
    bytes: int | None = Field(description="The size of its files.")
    created_at: int = Field(description="When it was asked for.")
    failure_message: str | None = Field(description="Why it could not be taken.")
    version: int | None = Field(description="The version of the pipeline that its state belongs to.")
    creator: str | None = Field(description="Who has asked for it.")
    reason: str | None = Field(description="What it was taken for.")
    pinned: bool = Field(description="Whether nothing deletes it.")
    verified_at: int | None = Field(description="When all its files were last read and compared with its manifest.")
    proven_at: int | None = Field(description="When its whole state was last restored and read.")
    damage: str | None = Field(description="What was wrong with it when it was last verified.")
    task: SavepointTask | None = Field(
        default=None, description="What this control plane was asked last to do with it; lists do not say it."
    )


class Effects(BaseModel):
    """Effects of a request, from its `dry_run`; nothing was done."""

    stops: bool = Field(description="Whether the job that is up ends.")
    starts: bool = Field(description="Whether a run starts.")
    pause_micros: int | None = Field(
        description="About how long nothing is computed in between, from past starts; null when it is not known."
    )
    kept: list[str] = Field(description="What stays.")
    lost: list[str] = Field(description="What is given up.")
    repeated: list[str] = Field(description="What is computed, and perhaps written, again.")
    voided: list[str] = Field(description="The gate certificates that hold no more.")
    upgrade: UpgradePlan | None = Field(
        default=None, description="The effect on the state, if another query takes it over."
    )
    rollback: Rollback | None = Field(default=None, description="What a rollback goes back to.")
    remarks: list[str] = Field(default=[], description="Parts of the request that have no effect, and why.")


class SinkAhead(BaseModel):
    """An append-only sink that keeps output after the state that a pipeline is rolled back to, and gets that output
    again."""

    table: str = Field(description="The sink.")
    connector: str = Field(description="What it writes with.")
    epochs: int | None = Field(description="How many epochs it is ahead; null when unknown.")
    rows: int | None = Field(description="How many rows; null when some of those epochs are no longer stored.")


class Rollback(BaseModel):
    """Target of a rollback."""

    version: int = Field(description="The earlier version that comes back.")
    savepoint_id: str | None = Field(
        description="The savepoint that it continues from; null if the present state is of its plan, and stays."
    )
    redone: bool = Field(
        description="Whether the version takes over that state once more, as when it was deployed, since what it had "
        "written was taken back."
    )
    epoch: int | None = Field(description="The last epoch of that savepoint.")
    ahead: list[SinkAhead] = Field(
        description="The sinks that cannot take back what they were given since. All others go back with the state."
    )


class RolledBackPipeline(Pipeline):
    """A pipeline after a rollback was requested."""

    rollback: Rollback = Field(description="What it goes back to.")


class ForkOrigin(BaseModel):
    """Origin of a fork's state."""

    pipeline_id: str = Field(description="The original.")
    pipeline: str = Field(description="Its name.")
    savepoint_id: str = Field(description="The savepoint of it that the fork begins with.")
    version: int | None = Field(description="The version of the original that the savepoint is of.")
    epoch: int | None = Field(description="The last epoch that it holds.")
    plan: UpgradePlan = Field(description="The effect on its state.")


class ForkedPipeline(Pipeline):
    """A new pipeline that starts from a savepoint of another pipeline."""

    forked_from: ForkOrigin = Field(description="Where its state comes from.")


class UpgradePlan(BaseModel):
    """The effect of an upgrade on a pipeline's state; nothing was done."""

    id: str | None = Field(description="Stands for all that the plan shows; null where there is no state.")
    is_refused: bool = Field(description="Whether the query cannot take over the state.")
    loses_nothing: bool = Field(description="Whether a deployment does it without `accept_loss`.")
    text: str = Field(description="The plan for people.")
    markdown: str = Field(description="The same for the comment on a change.")
    plan: dict[str, Any] = Field(description="The plan for programs: a verdict for each operator, source and sink.")


class StateSource(BaseModel):
    """A place of the plan that reads a table, after the newest committed epoch."""

    number: int = Field(description="Spark's number of it.")
    table: str | None = Field(description="The source table.")
    positions: Any = Field(description="How far each of its partitions is read.")
    watermark: int | None = Field(description="Its watermark.")
    unknown: dict[str, str] = Field(description="Why a field is not known.")


class StatePartition(BaseModel):
    """A partition of an operator's state, which one task processes."""

    number: int = Field(description="Its number.")
    bytes: int = Field(description="The length of the files that the newest committed epoch needs of it.")
    rows: int | None = Field(description="The rows that are kept in it.")


class StateOperator(BaseModel):
    """A stateful operator."""

    number: int = Field(description="Spark's number of it.")
    id: str | None = Field(description="Its id, by which `reset` and `keep_state` name it.")
    kind: str | None = Field(description="What kind of operator it is.")
    spark_name: str | None = Field(description="What Spark calls it.")
    bytes: int = Field(description="The length of the files that the newest committed epoch needs of it.")
    rows: int | None = Field(description="The rows that it keeps.")
    partitions: list[StatePartition] = Field(description="The parts that its state is cut into.")
    skew: float | None = Field(description="The largest part's bytes, divided by the mean of all parts.")
    unknown: dict[str, str] = Field(description="Why a field is not known.")


class StateSink(BaseModel):
    """A sink, and the newest entry of its ledger."""

    name: str = Field(description="The table.")
    lineage: str | None = Field(description="The history of the newest epoch that it has taken.")
    epoch: int | None = Field(description="That epoch.")
    generation: int | None = Field(description="The number of the run that wrote it.")
    rows: int | None = Field(description="The rows that it had.")
    refused: int | None = Field(description="The rows that were left out so far.")
    unknown: dict[str, str] = Field(description="Why a field is not known.")


class StateSummary(BaseModel):
    """Summary of a state at its newest committed epoch, from its files."""

    directory: str = Field(description="Where it lies on the control plane's machine.")
    name: str | None = Field(description="The pipeline.")
    version: int | None = Field(description="The version of the pipeline whose state it is.")
    fingerprint: str | None = Field(description="What of the plan the state is bound to.")
    parallelism: int | None = Field(description="Into how many parts it is cut.")
    lineage: str | None = Field(description="The history that it belongs to.")
    parents: list[tuple[str, int]] = Field(
        description="The histories before it, nearest first, each with the last epoch that was taken over."
    )
    epoch: int | None = Field(description="The newest committed epoch.")
    begun: int | None = Field(description="An epoch that is planned and not committed.")
    at: int | None = Field(description="When the newest epoch was committed.")
    watermark: int | None = Field(description="That of committed output.")
    sources: list[StateSource] = Field(description="The places of the plan that read tables.")
    operators: list[StateOperator] = Field(description="What keeps state.")
    sinks: list[StateSink] = Field(description="The tables that are written.")
    unknown: dict[str, str] = Field(description="Why a field is not known.")


class StateRow(BaseModel):
    """A row of an operator's state."""

    partition: int = Field(description="The part of the state that it is in.")
    table: str = Field(description="Which of the operator's tables it is of.")
    columns: dict[str, Any] = Field(description="Its values, by the names of the script where those are known.")


class Watermark(BaseModel):
    """Completeness of a pipeline's committed output; `passed` is the answer for the requested instant."""

    pipeline_id: str = Field(description="The pipeline whose output it is about.")
    watermark: int | None = Field(
        description="That of the newest committed epoch; far in the future once the job has finished."
    )
    epoch: int | None = Field(description="The newest committed epoch.")
    lineage: str | None = Field(description="The history of the state that it belongs to.")
    passed: bool | None = Field(description="Whether the output is complete up to `past`; null without it.")
    state: State = Field(description="Where the job stands.")
    settled: bool = Field(description="Whether nothing that was asked for is still to come.")
    sources: dict[str, int | None] = Field(description="The watermark of each source table.")
    sinks: dict[str, SinkProgress] = Field(description="How far the output of each sink is complete.")
    held_by: HeldBy | None = Field(
        description="What keeps the gate shut, or without `past` the output of the sink that is least far; null once "
        "the gate is passed, when the job has finished, and where it is not known."
    )
    certificate: Certificate | None = Field(
        default=None, description="What a DAG run that names itself is given when the gate is passed."
    )


class LogMessage(BaseModel):
    """An event of a job."""

    id: int
    created_at: int = Field(description="When it happened.")
    level: str = Field(description="`info`, `warn` or `error`.")
    message: str = Field(description="What happened.")
    code: str | None = Field(description="The code of the error.")
    details: str | None = Field(description="What to do about it.")
    run_id: int | None = Field(description="The run that it happened to.")
    who: str | None = Field(
        description="The name of the token that asked for it, also where the control plane has carried it out; "
        "`control plane` for its own actions."
    )
    requested_by: str | None = Field(
        default=None, description="On whose behalf, as the header `X-Requested-By` of that request has named it."
    )


class JobLogMessage(BaseModel):
    """An error of a job."""

    id: str
    created_at: int = Field(description="When it happened.")
    operator_id: None = Field(default=None, description="Always null: which operator it was is not known.")
    task_index: None = Field(default=None, description="Always null, as well.")
    level: str = Field(description="`info`, `warn` or `error`.")
    message: str = Field(description="What happened.")
    details: str = Field(description="What to do about it; empty when there is nothing to say.")
    error_domain: ErrorDomain | None = Field(
        description="Where it comes from, as in a `FailureReason`; null when it has no code."
    )
    code: str | None = Field(description="The code of the error.")
    run_id: int | None = Field(description="The run that it happened to.")


class PipelineEvent(LogMessage):
    """An event of a pipeline. Its `id` is a cursor: later events have larger ones."""

    pipeline_id: str = Field(description="The pipeline.")
    pipeline: str = Field(description="Its name.")


class Ping(BaseModel):
    """Identity of the server."""

    pong: bool = True
    version: str = Field(description="The version of the engine.")
    instance: str = Field(description="Another one after every start of the control plane.")


def pipeline(
    record: JobRecord,
    version: Version,
    directory: DataDirectory,
    voids: Sequence[StoredCertificate] = (),
    *,
    is_given_up: bool,
    not_undone: str | None,
    is_preview: bool = False,
) -> Pipeline:
    """Return the current pipeline; the query is the newest version's, which may not run yet."""
    facts = pipeline_facts(
        record, Outline.of(version), directory, voids, is_given_up=is_given_up, not_undone=not_undone
    )
    return Pipeline(**facts, query=version.spec.query, preview=is_preview)


def pipeline_facts(
    record: JobRecord,
    outline: Outline,
    directory: DataDirectory,
    voids: Sequence[StoredCertificate] = (),
    *,
    is_given_up: bool,
    not_undone: str | None,
) -> dict[str, Any]:
    """Return the fields of PipelineFacts."""
    desired, status = record.pipeline, record.status
    meaning = STATES[status.state]
    interval = outline.checkpoint_interval
    return {
        "id": desired.id,
        "name": desired.name,
        "version": desired.version,
        "udfs": [Udf(definition=definition) for definition in outline.udfs],
        "settings": dict(outline.settings),
        "parallelism": desired.parallelism,
        "checkpoint_interval_micros": None if interval is None else interval // timedelta(microseconds=1),
        "stop": desired.stop,
        "stopped_by": desired.stop_request and desired.stop_request.by,
        "stopped_at": desired.stop_request and to_micros(desired.stop_request.at),
        "created_at": to_micros(desired.created_at),
        "state": status.state,
        "settled": is_settled(desired, status),
        "action": meaning.next_stop,
        "action_text": meaning.action_text,
        "action_in_progress": meaning.in_progress,
        "graph": {} if outline.graph is None else graph(outline.graph, desired.parallelism),
        "tables": None if outline.graph is None else json.loads(outline.graph).get("tables"),
        "fingerprint": outline.fingerprint,
        "digest": outline.digest,
        "job_id": desired.job_id,
        "state_dir": str(directory.state(desired.id)),
        "tags": dict(desired.tags),
        "complete_until": micros(least_complete(promised(status, is_given_up=is_given_up))),
        "not_undone": not_undone,
        "voids": [certificate(stored) for stored in voids],
    }


def job(record: JobRecord, shared_java: SharedWith | None, trouble: Failure | None = None, *, is_given_up: bool) -> Job:
    """Return the job of a pipeline, and the JVM that its run shares. A `trouble` that blocks it now is shown as its
    failure."""
    status = record.status
    failure = trouble or status.failure
    progress = promised(status, is_given_up=is_given_up)
    return Job(
        id=status.job_id,
        pipeline_id=status.pipeline_id,
        running_desired=record.pipeline.stop == "none" and not status.state.is_terminal,
        settled=is_settled(record.pipeline, status),
        state=status.state,
        step=_step(record, trouble),
        run_id=status.generation,
        start_time=micros(status.started_at),
        finish_time=micros(status.finished_at),
        tasks=status.parallelism,
        failure_message=failure and failure.message,
        failure_code=failure and failure.code,
        failure_hint=failure and failure.hint,
        failure_reason=failure and failure_reason(failure),
        failure_cause=failure and failure.cause.value,
        blocked=trouble is not None,
        restarts=status.failures + status.outages,
        restarts_total=status.restarts,
        restart_code=status.restart_code,
        watermark=micros(progress.watermark),
        sinks=dict(progress.sinks),
        epoch=status.progress.epoch,
        created_at=to_micros(status.created_at),
        shared_java=shared_java,
    )


def _step(record: JobRecord, trouble: Failure | None) -> str | None:
    """Return the step of a job that is changing its state."""
    state, run = record.status.state, record.run
    if trouble is not None and state is not State.RUNNING:
        return "waiting for disk space" if trouble.code == DiskFullError.code else "waiting for the control plane"
    if state is State.RESCALING:
        return "redistributing the state" if run is None else "finishing the epoch"
    return run.step if run is not None and state is State.SCHEDULING else None


def failure_reason(failure: Failure) -> FailureReason:
    """Return a failure in Arroyo's words."""
    return FailureReason(error=failure.message, domain=DOMAINS[failure.cause])


DOMAINS: Mapping[Cause, ErrorDomain] = {Cause.MISTAKE: "user", Cause.OUTAGE: "external", Cause.UNKNOWN: "internal"}
"""Arroyo's error domain of a failure."""


def graph(text: str, parallelism: int) -> dict[str, Any]:
    """Return the graph of a plan in Arroyo's form; each of its nodes runs with the job's parallelism."""
    picture: dict[str, Any] = json.loads(text)
    picture.pop("tables", None)  # shown beside it
    for node in picture.get("nodes", ()):
        node["parallelism"] = parallelism
    for edge in picture.get("edges", ()):
        edge["key_type"] = edge["value_type"] = ""
    return picture


def checkpoint(report: EpochReport, before: EpochReport | None) -> CommittedEpoch:
    """Return a committed epoch in the form of the API, after the one before it."""
    between = report.at - before.at if before is not None and before.at < report.at else None
    shown = {
        "start_time": to_micros(report.at - report.duration),
        "finish_time": to_micros(report.at),
        "since_previous_micros": None if between is None else between // timedelta(microseconds=1),
        "rows_per_second": rate(report.rows_in, between),
    }
    return Checkpoint.model_validate({**to_wire(report), **shown})


def savepoint(stored: StoredSavepoint, directory: DataDirectory, task: DoneTask | None = None) -> Savepoint:
    """Return a savepoint in the form of the API."""
    return Savepoint(
        id=stored.id,
        pipeline_id=stored.pipeline_id,
        label=stored.label,
        state=stored.state,
        epoch=stored.epoch,
        watermark=micros(stored.watermark),
        parallelism=stored.parallelism,
        path=str(directory.savepoint(stored.pipeline_id, stored.id)),
        bytes=stored.bytes,
        created_at=to_micros(stored.created_at),
        failure_message=stored.failure_message,
        version=stored.version,
        creator=stored.creator,
        reason=stored.reason,
        pinned=stored.pinned,
        verified_at=micros(stored.verified_at),
        proven_at=micros(stored.proven_at),
        damage=stored.damage,
        task=None if task is None else savepoint_task(task),
    )


def savepoint_task(task: DoneTask) -> SavepointTask:
    """Return a finished task of a savepoint in the form of the API."""
    return SavepointTask(kind=task.kind, at=to_micros(task.at), state=task.state, message=task.message)


def certificate(stored: StoredCertificate, run: ParentRun | None = None) -> Certificate:
    """Return a certificate of a gate, with its run if that was looked up."""
    return Certificate(
        id=stored.id,
        pipeline_id=stored.pipeline_id,
        version=stored.version,
        lineage=stored.lineage,
        epoch=stored.epoch,
        past=to_micros(stored.past),
        complete_until=to_micros(stored.complete_until),
        table=stored.sink,
        by=stored.by_time,
        dag_id=stored.dag_id,
        run_id=stored.run_id,
        at=to_micros(stored.at),
        voided_at=micros(stored.voided_at),
        offsets=None if stored.offsets is None else dict(stored.offsets),
        openlineage=run,
    )


def upgrade_plan(shown: ShownUpgrade) -> UpgradePlan:
    """Return an upgrade plan in the form of the API."""
    return UpgradePlan(
        id=shown.id,
        is_refused=shown.is_refused,
        loses_nothing=shown.loses_nothing,
        text=shown.text,
        markdown=shown.markdown,
        plan=json.loads(shown.content),
    )


def effects(expected: WhatHappens, upgrade: ShownUpgrade | None = None) -> Effects:
    """Return the effects of a change in the form of the API."""
    return Effects(
        stops=expected.stops,
        starts=expected.starts,
        pause_micros=None if expected.pause is None else expected.pause // timedelta(microseconds=1),
        kept=list(expected.kept),
        lost=list(expected.lost),
        repeated=list(expected.repeated),
        voided=list(expected.voided),
        upgrade=None if upgrade is None else upgrade_plan(upgrade),
    )


def watermark(record: JobRecord, gate: Gate | None, *, is_given_up: bool) -> Watermark:
    """Return how far the output is complete. A finished job's output is complete up to the far future; for a state that
    is to be discarded nothing is known. Raise for a gate that can never be passed."""
    status = record.status
    is_finished = status.state is State.FINISHED and not is_given_up
    progress = promised(status, is_given_up=is_given_up)
    return Watermark(
        pipeline_id=record.pipeline.id,
        watermark=micros(progress.watermark),
        epoch=progress.epoch,
        lineage=progress.lineage,
        passed=None if gate is None else is_passed(gate, progress) or is_finished,
        state=status.state,
        settled=is_settled(record.pipeline, status),
        sources=sources(progress.sources),
        sinks=dict(progress.sinks),
        held_by=None if is_finished else holder(gate, status, progress),
    )


def pipeline_event(stored: StoredEvent) -> PipelineEvent:
    """Return an event with the pipeline that it happened to."""
    shown = log_message(stored.event).model_dump()
    return PipelineEvent(**shown, pipeline_id=stored.pipeline_id, pipeline=stored.pipeline)


def log_message(event: JobEvent) -> LogMessage:
    """Return an event of a job."""
    return LogMessage(
        id=event.id or 0,
        created_at=to_micros(event.at),
        level=event.level,
        message=event.message,
        code=event.code,
        details=event.hint,
        run_id=event.generation,
        who=event.who,
        requested_by=event.requested_by,
    )


def job_log_message(event: JobEvent) -> JobLogMessage:
    """Return an event of a job in Arroyo's form."""
    return JobLogMessage(
        id=str(event.id or 0),
        created_at=to_micros(event.at),
        level=event.level,
        message=event.message,
        details=event.hint or "",
        error_domain=None if event.code is None else DOMAINS[Failure(event.code, event.message).cause],
        code=event.code,
        run_id=event.generation,
    )


def sources(watermarks: Mapping[str, datetime | None]) -> dict[str, int | None]:
    """Return the watermark of each source table."""
    return {name: micros(at) for name, at in watermarks.items()}


def micros(instant: datetime | None) -> int | None:
    """Return microseconds since 1970, or None."""
    return None if instant is None else to_micros(instant)
