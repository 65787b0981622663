"""Links from a task to its pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar
from urllib.parse import quote

import attrs
from airflow.sdk.bases.operatorlink import BaseOperatorLink
from airflow.sdk.execution_time.xcom import XCom

from airflow_provider_arroyo.views import LINK, LINK_KEY, view_of

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator, Context
    from airflow.sdk.types import TaskInstanceKey

URL_KEY = "pipeline_url"


@attrs.define()
class PipelineLink(BaseOperatorLink):
    """Opens the pipeline in Airflow."""

    operators: ClassVar[list[type[BaseOperator]]] = []

    @property
    def name(self) -> str:
        """Return the text of the button."""
        return LINK

    @property
    def xcom_key(self) -> str:
        """Return the XCom key of the finished link."""
        return LINK_KEY

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the stored address of the task; empty if it has not got so far."""
        noted = XCom.get_one(
            key=LINK_KEY, dag_id=ti_key.dag_id, task_id=ti_key.task_id, run_id=ti_key.run_id, map_index=ti_key.map_index
        )
        return str(noted or "")


def page_of(url: str, pipeline: object) -> str:
    """Return the pipeline's page in the web UI, or for several of them the list of all."""
    place = f"pipelines/{quote(pipeline.partition('/')[0], safe='')}" if isinstance(pipeline, str) else ""
    return f"{url.rstrip('/')}/#/{place}"


def link_of(url: str, conn_id: str, pipeline: object) -> dict[str, str]:
    """Return the XComs with the pipeline's pages: at its control plane, and in Airflow."""
    return {URL_KEY: page_of(url, pipeline), LINK_KEY: view_of(conn_id, pipeline)}


def note_link(context: Context, url: str, conn_id: str, pipeline: object) -> None:
    """Store the pipeline's page before waiting, so that the link works meanwhile."""
    for key, address in link_of(url, conn_id, pipeline).items():
        context["ti"].xcom_push(key=key, value=address)
