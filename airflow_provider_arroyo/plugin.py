"""Airflow plugin that adds the web UI of control planes to Airflow. Every process of Airflow loads this module, so the
request handlers are imported with the first request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_arroyo.airflow_versions import AirflowPlugin
from airflow_provider_arroyo.sensor_link import SensorLink
from airflow_provider_arroyo.views import MOUNT, VIEW, root_path

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


class PageOnDemand:
    """ASGI application that is created at the first request."""

    def __init__(self) -> None:
        self._app: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if self._app is None:
            from airflow_provider_arroyo.page.app import build_app  # noqa: PLC0415 - see above

            self._app = build_app()
        await self._app(scope, receive, send)


class ArroyoPlugin(AirflowPlugin):
    """Adds the web UI of each control plane that a connection of type `arroyo` refers to."""

    name = "arroyo"
    fastapi_apps = [{"app": PageOnDemand(), "url_prefix": MOUNT, "name": "Arroyo"}]  # noqa: RUF012 - as Airflow has it
    external_views = [  # noqa: RUF012
        {
            "name": "Arroyo",
            "href": f"{root_path()}{MOUNT}/",
            "destination": "nav",
            "url_route": VIEW,
            "icon": f"{root_path()}{MOUNT}/mark.svg",
        }
    ]
    operator_extra_links = [SensorLink()]  # noqa: RUF012
