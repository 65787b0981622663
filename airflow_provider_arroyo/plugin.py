"""Airflow plugin that adds the web UI of control planes to Airflow. Every process of Airflow loads this module, so the
request handlers are imported with the first request.

Link of a sensor to its pipeline. If the name of the pipeline is a literal, Airflow's API server shows it from the
beginning, since a gate without a result stores nothing while it waits.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from airflow_provider_arroyo.airflow_versions import AirflowPlugin
from airflow_provider_arroyo.views import LINK, LINK_KEY, MOUNT, VIEW, root_path, view_of

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from starlette.types import ASGIApp, Receive, Scope, Send


class SensorLink:
    """Link in a plugin. Every process of Airflow has one, so its imports happen when it is used."""

    name = LINK

    @property
    def operators(self) -> list[type[BaseOperator]]:
        """Whose link it is."""
        return _sensors()

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the link that the task has stored, or else the one from its arguments; empty if they are templates."""
        from airflow_provider_arroyo.airflow_versions import XComOperatorLink  # noqa: PLC0415 - see above

        noted = XComOperatorLink(self.name, LINK_KEY).get_link(operator, ti_key=ti_key)
        return noted or _written_out(getattr(operator, "arroyo_conn_id", None), getattr(operator, "pipeline", None))


@cache
def _sensors() -> list[type[BaseOperator]]:
    from airflow_provider_arroyo.sensors.checkpoint import CheckpointSensor  # noqa: PLC0415
    from airflow_provider_arroyo.sensors.freshness import FreshnessSensor  # noqa: PLC0415
    from airflow_provider_arroyo.sensors.job_state import StreamingJobSensor  # noqa: PLC0415
    from airflow_provider_arroyo.sensors.lag import LagSensor  # noqa: PLC0415
    from airflow_provider_arroyo.sensors.watermark import WatermarkSensor  # noqa: PLC0415

    return [CheckpointSensor, FreshnessSensor, StreamingJobSensor, LagSensor, WatermarkSensor]


def _written_out(conn_id: object, pipeline: object) -> str:
    is_known = isinstance(conn_id, str) and isinstance(pipeline, str | list)
    return view_of(str(conn_id), pipeline) if is_known and "{" not in f"{conn_id}{pipeline}" else ""


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
