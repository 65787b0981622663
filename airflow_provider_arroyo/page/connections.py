"""Resolve the name of an Airflow connection to a control plane. Only connections of type `arroyo` are allowed, and no
control plane is started."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

from airflow.models.connection import Connection
from airflow.utils.session import create_session
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from airflow_provider_arroyo.airflow_versions import AirflowException, AirflowNotFoundException
from airflow_provider_arroyo.embedded import adopt
from airflow_provider_arroyo.endpoint import Endpoint
from airflow_provider_arroyo.errors import ArroyoError, UnreachableError
from airflow_provider_arroyo.hooks.arroyo import ArroyoHook, to_endpoint
from airflow_provider_arroyo.page.refusals import NotPassedOnError

_VARIABLE = "AIRFLOW_CONN_"


def endpoint_of(conn_id: str, team: str | None) -> Endpoint:
    """Return the endpoint of a connection; the host is never taken from a request."""
    try:
        connection = Connection.get_connection_from_secrets(conn_id, team_name=team)
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
    """The connections of type `arroyo` that can be listed: those of Airflow's database and of the environment of this
    process. What a secrets backend keeps cannot."""
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


def _adopt(data_dir: Path) -> Endpoint:
    if endpoint := adopt(data_dir):
        return endpoint
    raise UnreachableError(
        f"no embedded control plane runs in {data_dir} on the machine of Airflow's API server",
        hint="the first task that uses the connection starts one, on the machine of its worker",
    )
