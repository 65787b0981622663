"""Link of a sensor to its pipeline. If the name of the pipeline is a literal, Airflow's API server shows it from the
beginning, since a gate without a result stores nothing while it waits."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from airflow_provider_arroyo.views import LINK, LINK_KEY, view_of

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator


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
