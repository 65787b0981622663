"""Errors as HTTP responses: `application/problem+json` with the engine's codes."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any, get_args

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.exc import OperationalError
from starlette.exceptions import HTTPException

from engine.api import answers
from engine.api.http.bodies import PLAN_ID
from engine.api.http.query_parameters import near_name
from engine.changes.verdict import RefusedChange, Wording, why_not
from engine.control.context import Context
from engine.errors import EngineError, PipelineIncompatibleError, ScriptRefused, StoreUnavailableError
from engine.jobs.address import NAME
from engine.jobs.decisions.spec import ShownUpgrade

LOG = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"
CONTENT = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
"""OpenAPI description of a problem response."""

_BY_CODE = {
    "auth.denied": HTTPStatus.UNAUTHORIZED,
    "auth.host": HTTPStatus.FORBIDDEN,
    "request.too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "request.invalid": HTTPStatus.UNPROCESSABLE_ENTITY,
    "request.unknown_parameter": HTTPStatus.UNPROCESSABLE_ENTITY,
    "pipeline.not_found": HTTPStatus.NOT_FOUND,
    "pipeline.deleted": HTTPStatus.NOT_FOUND,
    "pipeline.no_such_sink": HTTPStatus.NOT_FOUND,
    "savepoint.not_found": HTTPStatus.NOT_FOUND,
    "token.not_found": HTTPStatus.NOT_FOUND,
    "stored.not_found": HTTPStatus.NOT_FOUND,
    "partition.not_found": HTTPStatus.NOT_FOUND,
    "rehearsal.not_found": HTTPStatus.NOT_FOUND,
    "partition.invalid": HTTPStatus.BAD_REQUEST,
    "partition.push_login": HTTPStatus.BAD_REQUEST,
    "run.address_refused": HTTPStatus.BAD_REQUEST,
    "pipeline.changed": HTTPStatus.PRECONDITION_FAILED,
    "server.store_unavailable": HTTPStatus.SERVICE_UNAVAILABLE,
}
_BY_FAMILY = {
    "sql": HTTPStatus.BAD_REQUEST,
    "option": HTTPStatus.BAD_REQUEST,
    "udf": HTTPStatus.BAD_REQUEST,
    "setting": HTTPStatus.BAD_REQUEST,
    "data": HTTPStatus.BAD_REQUEST,
    "request": HTTPStatus.BAD_REQUEST,
    "auth": HTTPStatus.FORBIDDEN,
    "pipeline": HTTPStatus.CONFLICT,
    "savepoint": HTTPStatus.CONFLICT,
    "state": HTTPStatus.CONFLICT,
    "token": HTTPStatus.CONFLICT,
    "stored": HTTPStatus.CONFLICT,
    "partition": HTTPStatus.CONFLICT,
    "rehearsal": HTTPStatus.CONFLICT,
}


_MEANINGS = {
    HTTPStatus.BAD_REQUEST: "The body cannot be read, or what it asks for is wrong.",
    HTTPStatus.UNAUTHORIZED: "The request has no valid token.",
    HTTPStatus.FORBIDDEN: "The host name of the request, or its token, is not for this.",
    HTTPStatus.NOT_FOUND: "There is nothing of that name.",
    HTTPStatus.CONFLICT: "It cannot be done as things are now.",
    HTTPStatus.PRECONDITION_FAILED: "The pipeline is not the one that If-Match names.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The request is too long.",
    HTTPStatus.UNPROCESSABLE_ENTITY: "A part of the request is not what it has to be.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "The control plane has met an error of its own.",
    HTTPStatus.SERVICE_UNAVAILABLE: "The database cannot be used now; send the request again later.",
}


class Position(BaseModel):
    """A position in a script; both numbers count from one."""

    line: int
    column: int


class Span(BaseModel):
    """A range in a script."""

    start: Position
    end: Position = Field(description="The same place: how far it goes is not known.")


class Complaint(BaseModel):
    """One error."""

    code: str = Field(description="The code of the error.")
    message: str = Field(description="What is wrong.")
    hint: str | None = Field(default=None, description="What to do next.")
    span: Span | None = Field(default=None, description="Where in the script.")


class Problem(BaseModel):
    """Reason why a request was refused, or failed."""

    model_config = ConfigDict(json_schema_extra={"description": "RFC 9457, with the engine's error code."})

    type: str = Field(description="The code, as a URN.")
    title: str = Field(description="The reason phrase of the status.")
    status: int = Field(description="The HTTP status.")
    code: str = Field(description="The code of the error.")
    detail: str = Field(description="What is wrong.")
    error: str = Field(description="The same, where clients of Arroyo's API look for it.")
    hint: str | None = Field(default=None, description="What to do next.")
    allowed_by: str | None = Field(
        default=None, description="The field or parameter of the request with which it is done all the same."
    )
    errors: list[Complaint] = Field(default=[], description="Each thing that is wrong, when there are several.")
    plan: answers.UpgradePlan | None = Field(
        default=None, description="What would become of the state, where that is why another query is refused."
    )


class RefusedPlanError(PipelineIncompatibleError):
    """An upgrade plan is refused, or has losses that are not accepted; the problem includes the plan."""

    def __init__(self, refused: RefusedChange, plan: ShownUpgrade) -> None:
        super().__init__(refused.message, hint=refused.hint)
        self.plan = plan


def refuse_unless_accepted(plan: ShownUpgrade, accepted: str | None, wording: Wording) -> None:
    """Raise RefusedPlanError if a plan cannot be carried out, loses something that was not accepted, or is not the
    accepted one."""
    refused = why_not(plan, accepted, plan.text, wording)
    if refused is None and accepted not in (None, plan.id):
        message = f"{accepted} is not the plan of this change, which is {plan.id} and loses nothing\n{plan.text}"
        refused = RefusedChange(message, f"leave out {wording.accept_loss}")
    if refused is not None:
        raise RefusedPlanError(refused, plan)


def complaints_of(error: EngineError) -> list[Complaint]:
    """Return each problem in an error."""
    if isinstance(error, ScriptRefused):
        return [_complaint(complaint) for complaint in error.complaints]
    return [_complaint(error)]


def problem_of(error: EngineError) -> Problem:
    """Return an error of the engine as a problem; its status follows from its code."""
    status = _BY_CODE.get(error.code) or _BY_FAMILY.get(error.code.partition(".")[0], HTTPStatus.INTERNAL_SERVER_ERROR)
    problem = _problem(status, error.code, error.message, error.hint, complaints_of(error))
    problem.allowed_by = error.allowed_by
    if isinstance(error, RefusedPlanError):
        problem.plan = answers.upgrade_plan(error.plan)
    return problem


def answer(problem: Problem) -> JSONResponse:
    """Return the HTTP answer for a problem."""
    headers = {"WWW-Authenticate": "Bearer"} if problem.status == HTTPStatus.UNAUTHORIZED else None
    return JSONResponse(problem.model_dump(), problem.status, headers=headers, media_type=MEDIA_TYPE)


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the problems with which a route may answer, for its description."""
    return {status: {"model": Problem, "description": _MEANINGS[HTTPStatus(status)]} for status in statuses}


def install(app: FastAPI) -> None:
    """Turn every error of an application into a problem."""
    app.add_exception_handler(EngineError, _on_engine_error)
    app.add_exception_handler(OperationalError, _on_database)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(Exception, _on_bug)


def _complaint(error: EngineError) -> Complaint:
    place = None if error.at is None else Position(line=error.at.line, column=error.at.column)
    span = None if place is None else Span(start=place, end=place)
    return Complaint(code=error.code, message=error.message, hint=error.hint, span=span)


def _problem(
    status: HTTPStatus, code: str, detail: str, hint: str | None = None, errors: list[Complaint] | None = None
) -> Problem:
    kind = f"urn:arroyo:{code}"
    return Problem(
        type=kind,
        title=status.phrase,
        status=status,
        code=code,
        detail=detail,
        error=detail,
        hint=hint,
        errors=errors or [],
    )


def _on_engine_error(_: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, EngineError):
        raise error
    return answer(problem_of(error))


def _on_database(request: Request, error: Exception) -> JSONResponse:
    """Answer a database failure; uncommitted changes are undone. Log it without a traceback: a growing log would keep a
    full disk full."""
    if not isinstance(error, OperationalError):
        raise error
    LOG.error("%s %s: the database cannot be used: %s", request.method, request.url.path, error.orig)
    unavailable = StoreUnavailableError(
        f"the control plane cannot use its database: {error.orig}",
        hint="see that there is room on the disk of its data directory, and send the request again",
    )
    return answer(problem_of(unavailable))


def _on_invalid(request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, RequestValidationError):
        raise error
    sent = request.headers.get("content-type", "").partition(";")[0].strip()
    complaints = [
        Complaint(code="request.invalid", message=describe_fault(fault, sent), hint=_hint(request, fault))
        for fault in error.errors()
    ]
    detail = "; ".join(complaint.message for complaint in complaints)
    hint = next((complaint.hint for complaint in complaints if complaint.hint), None)
    return answer(_problem(HTTPStatus.UNPROCESSABLE_ENTITY, "request.invalid", detail, hint, complaints))


def _hint(request: Request, fault: Mapping[str, Any]) -> str | None:
    return near_field(request.scope.get("route"), fault["loc"]) if fault["type"] == "extra_forbidden" else None


def _on_http(_: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, HTTPException):
        raise error
    code = "request.not_found" if error.status_code == HTTPStatus.NOT_FOUND else "request.refused"
    refusal = answer(_problem(HTTPStatus(error.status_code), code, str(error.detail)))
    refusal.headers.update(error.headers or {})  # the verbs that there are, after one that there is not
    return refusal


def _on_bug(request: Request, error: Exception) -> JSONResponse:
    LOG.error("%s %s fails with an error of the control plane's own", request.method, request.url.path, exc_info=error)
    detail = "the control plane has met an error of its own; its log shows more"
    return answer(_problem(HTTPStatus.INTERNAL_SERVER_ERROR, "server.internal", detail))


def near_field(route: object, place: Sequence[str | int]) -> str | None:
    """Return the hint for an unknown field of a request's body: the most similar known field, or all known fields; None
    if the body has no model. `place` is Pydantic's location, such as `("body", "udfs", 0, "kind")`."""
    body = route.body_field if isinstance(route, APIRoute) else None
    if body is None or not place or place[0] != "body":
        return None
    models = list(_models(body.field_info.annotation))
    for part in place[1:-1]:
        inner = [found for model in models for found in _models(_annotations(model).get(str(part)))]
        models = inner or models  # a number of a list, or the tag of a union, is no field
    known = {name for model in models for name in _annotations(model)}
    return near_name(str(place[-1]), known, "it has no fields") if models else None


def _annotations(model: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models anywhere in an annotation, such as that of a list or a union."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


_SHORT = 40
"""Largest length of a value that is shown."""
_SECRET = ("secret", "token", "password", "key", "lock", "settings", "code")
"""Parts of field names whose values are never shown."""
_EXPECTED = {
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_parsing": "a number",
    "float_type": "a number",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "string_type": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
_FORMS = {
    f"^{NAME}$": "must have no slash, no backslash and no control character",
    PLAN_ID: "must be the id of a plan, as `arroyo plan` shows it",
    "^[0-9]{1,18}$": "must be what an answer before has named",
}
_COMPARED = {
    "greater_than_equal": ("ge", "{} or more"),
    "less_than_equal": ("le", "{} or less"),
    "greater_than": ("gt", "more than {}"),
    "less_than": ("lt", "less than {}"),
    "literal_error": ("expected", "{}"),
    "enum": ("expected", "{}"),
}


def describe_fault(fault: Mapping[str, Any], content_type: str | None = None) -> str:
    """Return the description of one of Pydantic's errors. A kind that is unknown here keeps Pydantic's text. A body
    that is not sent as JSON is not read: `content_type` is the sent type, without parameters."""
    kind, bounds = fault["type"], fault.get("ctx") or {}
    name = _name(fault["loc"])
    if tuple(fault["loc"]) == ("body",) and isinstance(fault.get("input"), bytes):
        sent = f"as {content_type[:_SHORT]}" if content_type else "without a content type"
        return f"the body must be JSON, and was sent {sent}: send the header Content-Type: application/json"
    if expected := _expected(kind, bounds):
        return f"{name} must be {expected}{_and_is(fault)}"
    match kind:
        case "missing":
            return f"{name} is missing"
        case "extra_forbidden":
            return f"{name} is not known here"
        case "json_invalid":
            return f"the body is not JSON: {bounds.get('error', fault['msg'])}"
        case "string_too_short" if bounds["min_length"] == 1:
            return f"{name} is empty"
        case "string_too_short":
            return f"{name} must have {bounds['min_length']} characters or more"
        case "string_too_long":
            return f"{name} must have {bounds['max_length']} characters or fewer"
        case "too_long":
            return f"{name} must have {bounds['max_length']} entries or fewer"
        case "string_pattern_mismatch":
            form = _FORMS.get(bounds["pattern"], f"must be of the form {bounds['pattern']}")
            return f"{name} {form}{_and_is(fault)}"
        case "value_error" if "error" in bounds:
            return f"{name}: {bounds['error']}"
    return f"{name}: {fault['msg']}"


def _expected(kind: str, bounds: Mapping[str, Any]) -> str | None:
    if kind in _COMPARED:
        bound, words = _COMPARED[kind]
        return words.format(bounds[bound])
    return _EXPECTED.get(kind)


def _name(place: Sequence[str | int]) -> str:
    """Return a field by the name that its sender uses: without the part of the request that contains it."""
    return ".".join(map(str, place[1:])) or f"the {place[0]}"


def _and_is(fault: Mapping[str, Any]) -> str:
    """Return the value, if it is short and cannot be a secret."""
    value = fault.get("input")
    parts = [str(part).lower() for part in fault["loc"]]
    if len(parts) < 2 or any(word in part for part in parts for word in _SECRET):
        return ""
    if not isinstance(value, (str, bool, int, float, type(None))):
        return ""
    shown = repr(value) if isinstance(value, str) else json.dumps(value)
    return f", and is {shown}" if len(shown) <= _SHORT else ""


async def _context(request: Request) -> Context:
    context: Context = request.app.state.context
    return context


ContextDep = Annotated[Context, Depends(_context)]
"""The context, for handlers."""
