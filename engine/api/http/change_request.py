"""A request for a change: executed once per idempotency key, and only for the revision that the client has seen.

    PUT orders, key a            executed; the response is recorded under the key
    PUT orders, key b            executed
    PUT orders, key a, late      gets the recorded response; nothing is executed
    PUT clicks, key a            refused: the key belongs to another request
    PATCH, If-Match of before b  refused: the pipeline has changed since

Only successful requests are recorded: a refused one may be sent again with its key.

Parent run of a change in OpenLineage, from headers, so that the body is the same for every try of a task, and
earlier control planes accept it.

On whose behalf a token requests a change, such as an Airflow task; from a header, so that the body is the same for
every try, and earlier control planes accept it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import unquote
from uuid import UUID

from fastapi import Depends, Header, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from sqlalchemy import Connection

from engine.api import answers
from engine.api.http.authentication import who_asks
from engine.control.access import ADMIN
from engine.control.context import Context
from engine.delivery.faults import reach
from engine.errors import IdempotencyConflictError, PipelineChangedError, RequestError
from engine.jobs.actors import JobRecord
from engine.jobs.decisions.effects import Effects, Facts, effects_of
from engine.jobs.decisions.spec import Pipeline, ShownUpgrade
from engine.jobs.decisions.status import JobEvent
from engine.jobs.fault_points import ControlPoint
from engine.openlineage.runs import AskingRun, ParentRun
from engine.store import openlineage, savepoints
from engine.store.access import keys
from engine.store.access.keys import KeptAnswer
from engine.store.jobs import checkpoints, events, runs
from engine.store.jobs.records import read_record
from engine.store.partitions import certificates
from engine.store.partitions.certificates import Certificate
from engine.store.pipelines import versions
from engine.store.pipelines.lineages import voided_by_request

_PARENT = "OpenLineage-Parent"
_ROOT = "OpenLineage-Root"
_LONGEST = 2048


def read_run(text: str, header: str) -> ParentRun:
    """Return the run that `NAMESPACE/JOB/RUN_ID` names. A namespace may have slashes in it."""
    job, _, number = text.rpartition("/")
    namespace, _, name = job.rpartition("/")
    if namespace and name:
        with suppress(ValueError):
            return ParentRun(namespace=namespace, name=name, run_id=UUID(number))
    raise RequestError(
        f"the header {header} is {text!r}, which names no run",
        hint="write it as NAMESPACE/JOB/RUN_ID, where the last is a UUID, or leave it out",
    )


async def _asking_run(
    parent: Annotated[
        str | None,
        Header(
            alias=_PARENT,
            max_length=_LONGEST,
            description="The run of OpenLineage that asks for this, as `NAMESPACE/JOB/RUN_ID` with percent-encoding. "
            "It becomes the parent of the runs that follow, until another request changes what they do.",
        ),
    ] = None,
    root: Annotated[
        str | None,
        Header(
            alias=_ROOT,
            max_length=_LONGEST,
            description="The run that this one is a part of, such as that of a task's DAG, in the same form.",
        ),
    ] = None,
) -> AskingRun | None:
    if parent is not None:
        run = read_run(unquote(parent), _PARENT)
        return AskingRun(run, None if root is None else read_run(unquote(root), _ROOT))
    if root is not None:
        raise RequestError(
            f"the header {_ROOT} names a run, and {_PARENT} none that is a part of it",
            hint=f"name the run that asks in {_PARENT}, or leave both out",
        )
    return None


AskingRunDep = Annotated[AskingRun | None, Depends(_asking_run)]
"""Dependency of endpoints that make changes."""


HEADER = "X-Requested-By"
LONGEST = 300


async def _requested_by(
    text: Annotated[
        str | None,
        Header(
            alias=HEADER,
            max_length=LONGEST,
            description="Who asks for this, in printable characters, such as `dag_id/task_id/run_id`. The pipeline's "
            "events show it beside the name of the token.",
        ),
    ] = None,
) -> str | None:
    if text is not None and not text.isprintable():
        raise RequestError(f"the header {HEADER} has characters that cannot be printed", hint="percent-encode them")
    return (text or "").strip() or None


RequestedByDep = Annotated[str | None, Depends(_requested_by)]
"""Dependency of endpoints that make changes."""


_MOST_OF_AGENT = 120
"""Largest number of stored characters of a client's User-Agent."""


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """Metadata of a request for a change. `digest` is the same for equal requests."""

    digest: str
    key: str | None = None
    if_match: str | None = None
    caller: str = "the API caller"
    """Description of the client."""
    who: str | None = None
    """Name of its token."""
    asking_run: AskingRun | None = None
    """Parent run in OpenLineage."""
    requested_by: str | None = None
    """On whose behalf it is sent, according to the client."""

    def check(self, pipeline: Pipeline | None) -> None:
        """Refuse a change if the pipeline is not as its sender has seen it."""
        tags = [tag.strip() for tag in (self.if_match or "").split(",")]
        if self.if_match is None or (pipeline is not None and ("*" in tags or etag(pipeline) in tags)):
            return
        fault = "does not exist" if pipeline is None else "has changed since it was read"
        raise PipelineChangedError(f"the pipeline {fault}", hint="read it again, and send its ETag as If-Match")


def etag(pipeline: Pipeline) -> str:
    """Return a tag that changes whenever the desired state of a pipeline does; the progress of its job does not
    count."""
    return f'"{pipeline.id}-{pipeline.revision}"'


def earlier_answer(connection: Connection, context: Context, request: ChangeRequest) -> KeptAnswer | None:
    """Return the answer to an earlier request with this key; None if there is none. Raise if the key belongs to another
    request."""
    if request.key is None:
        return None
    answer = keys.find(connection, request.key, context.clock())
    if answer is not None and answer.digest != request.digest:
        raise IdempotencyConflictError("the idempotency key belongs to another request", hint="use a fresh key")
    return answer


def note(connection: Connection, context: Context, request: ChangeRequest, job_id: str, message: str) -> None:
    """Store an event with the request and its sender. What follows is not attributed to an earlier deployment."""
    context.requested_starts.forget(job_id)
    event = JobEvent(job_id, context.clock(), "info", message, who=request.who, requested_by=request.requested_by)
    events.add(connection, event)


def note_asking_run(connection: Connection, context: Context, request: ChangeRequest, pipeline: Pipeline) -> None:
    """Record who has requested the runs that follow from a change, even if that is unknown."""
    openlineage.put_asking_run(connection, pipeline.job_id, context.clock(), request.asking_run)


def again(answer: KeptAnswer) -> Response:
    """Replay a recorded response."""
    return _response(answer, {"Idempotency-Replayed": "true"})


def record_answer(
    connection: Connection,
    context: Context,
    request: ChangeRequest,
    status: int,
    content: BaseModel | None,
    changed: Pipeline | None = None,
) -> Response:
    """Return the answer to a change that is made in this transaction, and store it under the request's key if it has
    one."""
    body = b"" if content is None else content.model_dump_json().encode()
    answer = KeptAnswer(request.digest, status, None if changed is None else etag(changed), body)
    if request.key is not None:
        keys.add(connection, request.key, answer, context.clock())
    reach(ControlPoint.BEFORE_CHANGE)
    return _response(answer, {})


def _response(answer: KeptAnswer, headers: dict[str, str]) -> Response:
    if answer.etag is not None:
        headers = {**headers, "ETag": answer.etag}
    media_type = "application/json" if answer.body else None
    return Response(answer.body or None, answer.status, headers=headers, media_type=media_type)


async def _change_request(
    request: Request,
    asking_run: AskingRunDep,
    requested_by: RequestedByDep,
    idempotency_key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            max_length=256,
            description="Makes a request that is sent twice happen once; its answer is kept for 30 days.",
        ),
    ] = None,
    if_match: Annotated[
        str | None,
        Header(alias="If-Match", description="The ETag of the pipeline as it was read: no other state is changed."),
    ] = None,
) -> ChangeRequest:
    body = _read_body(await request.body())
    key_of_body = body.pop("idempotency_key", None) if isinstance(body, dict) else None
    if isinstance(body, dict) and body.get("secrets"):
        # A plain digest that is kept could be compared with those of likely passwords.
        context: Context = request.app.state.context
        body["secrets"] = context.database.vault.digest(json.dumps(body["secrets"], sort_keys=True))
    text = json.dumps(
        [request.method, request.url.path, sorted(request.query_params.multi_items()), body], sort_keys=True
    )
    key = idempotency_key or (key_of_body if isinstance(key_of_body, str) else None)
    digest, who = hashlib.sha256(text.encode()).hexdigest(), who_asks(request)
    caller = _caller(request, requested_by)
    return ChangeRequest(digest, key or None, if_match, caller, who, asking_run, requested_by)


def _caller(request: Request, requested_by: str | None) -> str:
    """Return the sender of a request: the token's name, the person on whose behalf it acts or the client's own name,
    and its address."""
    agent = "".join(filter(str.isprintable, request.headers.get("user-agent", "")))[:_MOST_OF_AGENT].strip()
    agent = requested_by or agent
    client = f"{agent or 'the API caller'} at {request.client.host}" if request.client else agent or "the API caller"
    who = who_asks(request)
    return client if who == ADMIN else f"{who}, {client}"


def _read_body(body: bytes) -> Any:
    try:
        return json.loads(body) if body else None
    except (ValueError, RecursionError):
        return body.hex()


ChangeRequestDep = Annotated[ChangeRequest, Depends(_change_request)]
"""Dependency of endpoints that make changes."""


DryRun = Annotated[bool, Query(description="Whether only to say what the request would do, after all its checks.")]
STARTS = 5
"""Number of recent starts from which the duration of the next one is estimated."""


def rehearse(
    context: Context,
    change: Callable[[Connection], tuple[JobRecord | None, Pipeline]],
    upgrade: ShownUpgrade | None = None,
    rollback: answers.Rollback | None = None,
    remarks: Sequence[str] = (),
) -> Response:
    """Make a change, return its effects, and undo it; raise the errors of the change itself. `change` returns the
    previous and the desired state; `upgrade` is the effect on the state, if known. `change` may add to the `remarks`.
    """
    with context.database.rehearsing() as connection:
        before, after = change(connection)
        effects = (
            Effects(starts=after.stop == "none")
            if before is None
            else effects_between(connection, context, before, after)
        )
    return answer_with(effects, upgrade, rollback, remarks)


def answer_with(
    effects: Effects,
    upgrade: ShownUpgrade | None = None,
    rollback: answers.Rollback | None = None,
    remarks: Sequence[str] = (),
) -> Response:
    """Return the response with the effects of a change."""
    shown = answers.effects(effects, upgrade).model_copy(update={"rollback": rollback, "remarks": list(remarks)})
    return JSONResponse(shown.model_dump(mode="json"))


def facts_of(connection: Connection, context: Context, record: JobRecord, *, is_deleted: bool = False) -> Facts:
    """Return the known facts of a pipeline's past."""
    reports = checkpoints.latest(connection, record.status.job_id, 1)
    return Facts(
        savepoints=savepoints.states(connection, record.pipeline.id).count("completed"),
        starts=runs.starts(connection, record.status.job_id, STARTS),
        upgrades=runs.upgrade_starts(
            connection, record.status.job_id, upgraded(connection, record.pipeline.id), STARTS
        ),
        epoch=reports[0].duration if reports else None,
        restored=_restored(connection, record.pipeline),
        certificates=_certificates(connection, context, record, is_deleted=is_deleted),
    )


def effects_between(connection: Connection, context: Context, before: JobRecord, after: Pipeline) -> Effects:
    """Return the effects of the change from a pipeline's earlier record to its desired state."""
    current = versions.get(connection, after.id, before.pipeline.version)
    following = versions.get(connection, after.id, after.version)
    written = read_record(connection, after.id)
    return effects_of(before, after, current, following, facts_of(connection, context, written))


def _restored(connection: Connection, pipeline: Pipeline) -> int | None:
    if pipeline.restore is None:
        return None
    origin = pipeline.restore.of_pipeline or pipeline.id
    return savepoints.get(connection, origin, pipeline.restore.savepoint_id).epoch


def _certificates(connection: Connection, context: Context, record: JobRecord, *, is_deleted: bool) -> tuple[str, ...]:
    """Return the gate certificates that a change voids, each with the DAG run that holds it."""
    voided = (
        certificates.would_void(connection, record.pipeline.id, None)
        if is_deleted
        else voided_by_request(connection, record, context.directory)
    )
    return certificate_names(voided)


def certificate_names(voided: Sequence[Certificate]) -> tuple[str, ...]:
    """Return the names of certificates, each with the DAG run that holds it."""
    return tuple(f"{certificate.id} of {certificate.dag_id} {certificate.run_id}" for certificate in voided)


def upgraded(connection: Connection, pipeline_id: str) -> list[int]:
    """Return the versions that took over the previous state; a fork's first version had nothing to save."""
    return [number for number in versions.upgraded(connection, pipeline_id) if number > 1]
