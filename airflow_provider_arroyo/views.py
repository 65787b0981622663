"""URLs of the control planes' web UI inside Airflow."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from airflow.configuration import conf

MOUNT = "/arroyo"
"""Path under which Airflow's API server serves it."""
VIEW = "arroyo"
"""Name of the view in Airflow."""
LINK = "Arroyo pipeline"
"""Label of the link from a task to its pipeline."""
LINK_KEY = "_link_PipelineLink"
"""XCom with the target of that link."""


def view_of(conn_id: str, pipeline: object) -> str:
    """Return the path of the same page inside Airflow, on the server of Airflow's own pages."""
    # Airflow's router takes one layer of quoting off before it gives the place to the frame
    place = f"pipelines/{_twice(pipeline.partition('/')[0])}" if isinstance(pipeline, str) else ""
    root = root_path()
    return f"{root}/plugin/{VIEW}{root}{MOUNT}/{_twice(conn_id)}/{place}"


def root_path() -> str:
    """Return the path below which Airflow is served; empty for none."""
    return urlsplit(conf.get("api", "base_url", fallback="")).path.rstrip("/")


def _twice(text: str) -> str:
    return quote(quote(text, safe=""), safe="")
