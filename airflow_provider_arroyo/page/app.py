"""ASGI application for Airflow's API server: the web UI of each control plane below the name of its connection, and its
API requests."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import APIRouter, FastAPI, HTTPException, Path, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, RedirectResponse, Response

from airflow_provider_arroyo.page import access, connections, files
from airflow_provider_arroyo.page.allowed import Right, right_for
from airflow_provider_arroyo.page.headers import ASSET, PAGE, PLAIN_PAGE, PROBLEM
from airflow_provider_arroyo.page.passing import pass_on, version_of
from airflow_provider_arroyo.page.refusals import NotPassedOnError, answer, is_for_program, page

ROUTER = APIRouter()
ConnectionId = Annotated[str, Path(pattern="^[A-Za-z0-9_.-]+$", max_length=250)]
_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


@ROUTER.get("/plain.css")
def style() -> Response:
    """The style of the pages that are written here."""
    return Response(files.PLAIN_STYLE, media_type="text/css", headers=PLAIN_PAGE)


@ROUTER.get("/mark.svg")
def mark() -> Response:
    """The sign beside the view's name."""
    found = files.mark()
    if found is None:
        raise HTTPException(404)
    return Response(found.content, media_type=found.kind, headers=PLAIN_PAGE)


@ROUTER.get("/")
def choose(request: Request, user: GetUserDep) -> Response:
    """The connections that somebody may see; where there is one, its page at once."""
    seen = [name for name in connections.listed() if access.may(user, Right.LOOK, name, access.team_of(name))]
    root = request.scope.get("root_path", "")
    links = {name: f"{root}/{quote(name, safe='')}/" for name in seen}
    if len(links) == 1:
        return RedirectResponse(next(iter(links.values())), 307)
    said = "Choose a connection." if links else "There is no connection of type arroyo that you may see."
    return page(request, "Control planes", [said], links)


@ROUTER.get("/{conn_id}/")
async def index(request: Request, conn_id: ConnectionId, user: GetUserDep) -> Response:
    """The page itself."""
    team = await run_in_threadpool(access.check, user, Right.LOOK, conn_id)
    await run_in_threadpool(connections.endpoint_of, conn_id, team)
    return _file("index.html", PAGE)


@ROUTER.get("/{conn_id}/pipelines/{pipeline}")
async def pipeline(request: Request, conn_id: ConnectionId, pipeline: str, user: GetUserDep) -> Response:
    """Redirect to the page of a pipeline, for the links of tasks. A fragment would be lost at a login."""
    await run_in_threadpool(access.check, user, Right.LOOK, conn_id)
    root = request.scope.get("root_path", "")
    return RedirectResponse(f"{root}/{quote(conn_id, safe='')}/#/pipelines/{quote(pipeline, safe='')}", 307)


@ROUTER.get("/{conn_id}/assets/{name}")
def asset(conn_id: ConnectionId, name: str, user: GetUserDep) -> Response:
    """A script, a style or a picture of the page, which anybody may see who has logged in."""
    return _file(f"assets/{name}", ASSET)


@ROUTER.get("/{conn_id}/api/v1/session")
async def session(request: Request, conn_id: ConnectionId, user: GetUserDep) -> Response:
    """Return the session of the user whom Airflow has admitted. A session cannot be started or ended here."""
    access.check_same_site(request, Right.LOOK)
    team = await run_in_threadpool(access.check, user, Right.LOOK, conn_id)
    version = await version_of(await run_in_threadpool(connections.endpoint_of, conn_id, team))
    may_change = await run_in_threadpool(access.may, user, Right.CHANGE, conn_id, team)
    session = {"who": user.get_name(), "version": version, "through": "Airflow", "may_change": may_change}
    return JSONResponse({"session": session}, headers=PROBLEM)


@ROUTER.api_route("/{conn_id}/api/v1/{path:path}", methods=_METHODS)
async def ask(request: Request, conn_id: ConnectionId, path: str, user: GetUserDep) -> Response:
    """Whatever else the page asks of the control plane."""
    right = right_for(request.method, path)
    if right is None:
        raise NotPassedOnError(404, "http.unknown_path", "this is not passed on to the control plane")
    access.check_same_site(request, right)
    team = await run_in_threadpool(access.check, user, right, conn_id)
    return await pass_on(request, await run_in_threadpool(connections.endpoint_of, conn_id, team), path)


def build_app() -> FastAPI:
    """The application. It describes itself to nobody: its paths are the page's own business."""
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
    """Airflow's own refusals: who is not logged in is sent to its login, and comes back."""
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
