"""A request for a change: executed once per idempotency key, and only for the revision that the client has seen.

    PUT orders, key a            executed; the response is recorded under the key
    PUT orders, key b            executed
    PUT orders, key a, late      gets the recorded response; nothing is executed
    PUT clicks, key a            refused: the key belongs to another request
    PATCH, If-Match of before b  refused: the pipeline has changed since

Only successful requests are recorded: a refused one may be sent again with its key.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Header, Request, Response
from pydantic import BaseModel
from sqlalchemy import Connection

from engine.api.http.asking_run import AskingRunDep
from engine.api.http.authentication import who_asks
from engine.api.http.requested_by import RequestedByDep
from engine.control.access import ADMIN
from engine.control.context import Context
from engine.delivery.faults import reach
from engine.errors import IdempotencyConflictError, PipelineChangedError
from engine.jobs.decisions.spec import Pipeline
from engine.jobs.decisions.status import JobEvent
from engine.jobs.fault_points import ControlPoint
from engine.openlineage.runs import AskingRun
from engine.store.access import keys
from engine.store.access.keys import KeptAnswer
from engine.store.jobs import events
from engine.store.openlineage import asking_runs

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
        """Refuse a change of something else than its sender has seen."""
        tags = [tag.strip() for tag in (self.if_match or "").split(",")]
        if self.if_match is None or (pipeline is not None and ("*" in tags or etag(pipeline) in tags)):
            return
        fault = "does not exist" if pipeline is None else "has changed since it was read"
        raise PipelineChangedError(f"the pipeline {fault}", hint="read it again, and send its ETag as If-Match")


def etag(pipeline: Pipeline) -> str:
    """Another one whenever something else is desired of a pipeline; where its job stands does not matter."""
    return f'"{pipeline.id}-{pipeline.revision}"'


def earlier_answer(connection: Connection, context: Context, request: ChangeRequest) -> KeptAnswer | None:
    """The answer that was given when this request was done; None when it was not. Refused when its key belongs to
    another request."""
    if request.key is None:
        return None
    answer = keys.find(connection, request.key, context.clock())
    if answer is not None and answer.digest != request.digest:
        raise IdempotencyConflictError("the idempotency key belongs to another request", hint="use a fresh key")
    return answer


def note(connection: Connection, context: Context, request: ChangeRequest, job_id: str, message: str) -> None:
    """Leave an event that says what was asked for, and by whom. No earlier deployment brings about what follows."""
    context.asked_starts.forget(job_id)
    event = JobEvent(job_id, context.clock(), "info", message, who=request.who, requested_by=request.requested_by)
    events.add(connection, event)


def note_asking_run(connection: Connection, context: Context, request: ChangeRequest, pipeline: Pipeline) -> None:
    """Write down who has asked for the runs that follow from a change, also that nobody is named."""
    asking_runs.put(connection, pipeline.job_id, context.clock(), request.asking_run)


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
    """The answer to a change that is made in this transaction, kept under the request's key if it has one."""
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
    """Return who sends a request: the token's name, on whose behalf or else the client's own name, and its address."""
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
