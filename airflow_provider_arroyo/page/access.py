"""Access control of the proxy: Airflow's login identifies the user, and its auth manager decides what the user may do
with the connection. There is no policy of our own."""

from __future__ import annotations

from urllib.parse import urlsplit

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import ConnectionDetails
from airflow.configuration import conf
from airflow.models.connection import Connection
from starlette.requests import Request

from airflow_provider_arroyo.page.allowed import Right
from airflow_provider_arroyo.page.refusals import NotPassedOnError

PAGE_HEADER = "X-Arroyo-Page"
"""Header that the web UI sends with every change. A page of another origin would need a CORS preflight for it."""


def team_of(conn_id: str) -> str | None:
    """The team that a connection belongs to; reads Airflow's database."""
    return Connection.get_team_name(conn_id) if conf.getboolean("core", "multi_team") else None


def may(user: BaseUser, right: Right, conn_id: str, team: str | None) -> bool:
    """Whether Airflow lets somebody see the connection, or change it."""
    details = ConnectionDetails(conn_id=conn_id, team_name=team)
    return get_auth_manager().is_authorized_connection(method=right.value, details=details, user=user)


def check(user: BaseUser, right: Right, conn_id: str) -> str | None:
    """Refuse who has not the right; the team of the connection."""
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


def check_same_site(request: Request, right: Right) -> None:
    """Refuse what another page has a browser send, with the cookie of Airflow."""
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


def _own(request: Request) -> set[str]:
    """Return the hosts of this Airflow: that of the request, and that of the settings, for a proxy that renames it."""
    return {request.headers.get("host", "").lower(), _place(conf.get("api", "base_url", fallback=""))} - {""}


def _place(url: str) -> str:
    try:
        return urlsplit(url).netloc.lower()
    except ValueError:
        return ""
