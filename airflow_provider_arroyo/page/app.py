"""ASGI application for Airflow's API server: the web UI of each control plane below the name of its connection, and its
API requests.

Access control of the proxy: Airflow's login identifies the user, and its auth manager decides what the user may do
with the connection. There is no policy of our own.

Resolve the name of an Airflow connection to a control plane. Only connections of type `arroyo` are allowed, and no
control plane is started.
"""

from __future__ import annotations

import os
from http import HTTPStatus
from pathlib import Path as Path_pathlib
from typing import Annotated, Any, cast
from urllib.parse import quote, urlencode, urlsplit

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import ConnectionDetails
from airflow.api_fastapi.core_api.security import GetUserDep
from airflow.configuration import conf
from airflow.models.connection import Connection
from airflow.utils.session import create_session
from fastapi import APIRouter, FastAPI, HTTPException, Path, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, RedirectResponse, Response
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request as Request_requests

from airflow_provider_arroyo.airflow_versions import AirflowException, AirflowNotFoundException
from airflow_provider_arroyo.embedded import adopt
from airflow_provider_arroyo.endpoint import Endpoint
from airflow_provider_arroyo.errors import ArroyoError, UnreachableError
from airflow_provider_arroyo.hooks.arroyo import ArroyoHook, to_endpoint
from airflow_provider_arroyo.page import files
from airflow_provider_arroyo.page.allowed import Right, right_for
from airflow_provider_arroyo.page.passing import pass_on, version_of
from airflow_provider_arroyo.page.refusals import (
    ASSET,
    PAGE,
    PLAIN_PAGE,
    PROBLEM,
    NotPassedOnError,
    answer,
    is_for_program,
    page,
)

ROUTER = APIRouter()
ConnectionId = Annotated[str, Path(pattern="^[A-Za-z0-9_.-]+$", max_length=250)]
_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


@ROUTER.get("/plain.css")
def style() -> Response:
    """Return the style of this module's pages."""
    return Response(files.PLAIN_STYLE, media_type="text/css", headers=PLAIN_PAGE)


@ROUTER.get("/mark.svg")
def mark() -> Response:
    """Return the icon of the view."""
    found = files.mark()
    if found is None:
        raise HTTPException(404)
    return Response(found.content, media_type=found.kind, headers=PLAIN_PAGE)


@ROUTER.get("/")
def choose(request: Request, user: GetUserDep) -> Response:
    """Return the connections that the user may see; if there is only one, redirect to its page."""
    seen = [name for name in listed() if may(user, Right.LOOK, name, team_of(name))]
    root = request.scope.get("root_path", "")
    links = {name: f"{root}/{quote(name, safe='')}/" for name in seen}
    if len(links) == 1:
        return RedirectResponse(next(iter(links.values())), 307)
    said = "Choose a connection." if links else "There is no connection of type arroyo that you may see."
    return page(request, "Control planes", [said], links)


@ROUTER.get("/{conn_id}/")
async def index(request: Request, conn_id: ConnectionId, user: GetUserDep) -> Response:
    """Return the HTML page."""
    team = await run_in_threadpool(check, user, Right.LOOK, conn_id)
    await run_in_threadpool(endpoint_of, conn_id, team)
    return _file("index.html", PAGE)


@ROUTER.get("/{conn_id}/pipelines/{pipeline}")
async def pipeline(request: Request, conn_id: ConnectionId, pipeline: str, user: GetUserDep) -> Response:
    """Redirect to the page of a pipeline, for the links of tasks. A fragment would be lost at a login."""
    await run_in_threadpool(check, user, Right.LOOK, conn_id)
    root = request.scope.get("root_path", "")
    return RedirectResponse(f"{root}/{quote(conn_id, safe='')}/#/pipelines/{quote(pipeline, safe='')}", 307)


@ROUTER.get("/{conn_id}/assets/{name}")
def asset(conn_id: ConnectionId, name: str, user: GetUserDep) -> Response:
    """Return a script, a style or a picture of the page, which every user with a login may see."""
    return _file(f"assets/{name}", ASSET)


@ROUTER.get("/{conn_id}/api/v1/session")
async def session(request: Request, conn_id: ConnectionId, user: GetUserDep) -> Response:
    """Return the session of the user whom Airflow has admitted. A session cannot be started or ended here."""
    check_same_site(request, Right.LOOK)
    team = await run_in_threadpool(check, user, Right.LOOK, conn_id)
    version = await version_of(await run_in_threadpool(endpoint_of, conn_id, team))
    may_change = await run_in_threadpool(may, user, Right.CHANGE, conn_id, team)
    session = {"who": user.get_name(), "version": version, "through": "Airflow", "may_change": may_change}
    return JSONResponse({"session": session}, headers=PROBLEM)


@ROUTER.api_route("/{conn_id}/api/v1/{path:path}", methods=_METHODS)
async def ask(request: Request, conn_id: ConnectionId, path: str, user: GetUserDep) -> Response:
    """Pass on any other request of the page to the control plane."""
    right = right_for(request.method, path)
    if right is None:
        raise NotPassedOnError(404, "http.unknown_path", "this is not passed on to the control plane")
    check_same_site(request, right)
    team = await run_in_threadpool(check, user, right, conn_id)
    return await pass_on(request, await run_in_threadpool(endpoint_of, conn_id, team), path)


def build_app() -> FastAPI:
    """Return the application, without an API description: its paths are internal to the page."""
    app = FastAPI(title="Arroyo", openapi_url=None, docs_url=None, redoc_url=None)
    app.include_router(ROUTER)
    app.add_exception_handler(NotPassedOnError, _refused)
    app.add_exception_handler(HTTPException, _not_let_in)
    return app


def _file(path: str, headers: dict[str, str]) -> Response:
    found = files.built().get(path)
    if found is None:
        raise NotPassedOnError(404, "http.unknown_path", "there is no such file of the page here")
    return Response(found.content, media_type=found.kind, headers=headers)


def _refused(request: Request, error: Any) -> Response:
    return answer(request, error)


def _not_let_in(request: Request, error: Any) -> Response:
    """Redirect a user without a login to Airflow's login, which returns to the page; answer with Airflow's own errors
    otherwise."""
    if error.status_code == HTTPStatus.UNAUTHORIZED and not is_for_program(request):
        mounted = request.scope.get("root_path", "")
        outside = mounted.removesuffix("/arroyo")
        query = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(f"{outside}/api/v2/auth/login?{urlencode({'next': request.url.path + query})}", 307)
    code, message = "auth.denied" if error.status_code == 401 else "airflow.refused", str(error.detail)
    return answer(
        request, NotPassedOnError(error.status_code, code, f"Airflow says: {message}", _HINTS.get(error.status_code))
    )


_HINTS = {401: "log in to Airflow, and load this page again"}


PAGE_HEADER = "X-Arroyo-Page"
"""Header that the web UI sends with every change. A page of another origin would need a CORS preflight for it."""


def team_of(conn_id: str) -> str | None:
    """Return the team of a connection; reads Airflow's database."""
    return Connection.get_team_name(conn_id) if conf.getboolean("core", "multi_team", fallback=False) else None


def may(user: BaseUser, right: Right, conn_id: str, team: str | None) -> bool:
    """Whether Airflow lets the user see the connection, or change it."""
    details = ConnectionDetails(conn_id=conn_id, team_name=team)
    return get_auth_manager().is_authorized_connection(method=right.value, details=details, user=user)


def check(user: BaseUser, right: Right, conn_id: str) -> str | None:
    """Refuse a user without the permission; return the team of the connection."""
    team = team_of(conn_id)
    if not may(user, right, conn_id, team):
        what = "see" if right is Right.LOOK else "change"
        raise NotPassedOnError(
            403,
            "airflow.forbidden",
            f"Airflow does not let {user.get_name()} {what} the connection {conn_id!r}",
            "users who may see a connection see its pipelines, and users who may edit it can change them",
        )
    return team


def check_same_site(request: Request_requests, right: Right) -> None:
    """Refuse a request that another page makes a browser send, with the cookie of Airflow."""
    site = request.headers.get("sec-fetch-site", "same-origin")
    origin = request.headers.get("origin")
    is_elsewhere = site not in {"same-origin", "none"} or (origin is not None and _place(origin) not in _own(request))
    if is_elsewhere or (right is Right.CHANGE and PAGE_HEADER not in request.headers):
        raise NotPassedOnError(
            403,
            "auth.cross_site",
            "another page has sent this request with the cookie of this one",
            f"send it from the page itself, or with the header {PAGE_HEADER}",
        )


def _own(request: Request_requests) -> set[str]:
    """Return the hosts of this Airflow: that of the request, and that of the settings, for a proxy that renames it."""
    return {request.headers.get("host", "").lower(), _place(conf.get("api", "base_url", fallback=""))} - {""}


def _place(url: str) -> str:
    try:
        return urlsplit(url).netloc.lower()
    except ValueError:
        return ""


_VARIABLE = "AIRFLOW_CONN_"


def endpoint_of(conn_id: str, team: str | None) -> Endpoint:
    """Return the endpoint of a connection; the host is never taken from a request."""
    try:
        of_team = {} if team is None else {"team_name": team}  # Airflow 3.1 knows no teams here
        connection = Connection.get_connection_from_secrets(conn_id, **of_team)
    except AirflowNotFoundException:
        connection = None
    if connection is None or connection.conn_type != ArroyoHook.conn_type:
        hint = "Airflow's connections are below Admin; those in the environment of the API server count, too"
        raise NotPassedOnError(404, "connection.unknown", f"there is no connection {conn_id!r} of type arroyo", hint)
    try:
        return to_endpoint(cast("Any", connection), embedded=_adopt)
    except ArroyoError as error:
        raise NotPassedOnError(503, error.code, error.message, error.hint) from None


def listed() -> list[str]:
    """Return the connections of type `arroyo` that can be listed: those of Airflow's database and of the environment of
    this process. Those of a secrets backend cannot be listed."""
    try:
        with create_session() as session:
            stored = set(
                session.scalars(select(Connection.conn_id).where(Connection.conn_type == ArroyoHook.conn_type))
            )
    except SQLAlchemyError:
        stored = set()
    named = {name.removeprefix(_VARIABLE).lower() for name in os.environ if name.startswith(_VARIABLE)}
    return sorted(stored | {conn_id for conn_id in named if _is_ours(conn_id)})


def _is_ours(conn_id: str) -> bool:
    try:
        connection = Connection.get_connection_from_secrets(conn_id)
    except (AirflowException, ValueError):
        return False
    return bool(connection.conn_type == ArroyoHook.conn_type)


def _adopt(data_dir: Path_pathlib) -> Endpoint:
    if endpoint := adopt(data_dir):
        return endpoint
    raise UnreachableError(
        f"no embedded control plane runs in {data_dir} on the machine of Airflow's API server",
        hint="the first task that uses the connection starts one, on the machine of its worker",
    )
