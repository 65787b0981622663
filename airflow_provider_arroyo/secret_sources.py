"""References from a pipeline's secrets to Airflow's connections and variables, resolved when the task runs.

    conn:kafka.password          the password of the connection kafka; also login and host
    conn:kafka.extra.sasl_key    a key of its extra
    var:registry_token           a variable

A DAG contains only such references. The values are sent to the control plane only: they are in no template field and no
XCom, and are masked in logs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from airflow.sdk import Variable
from airflow.sdk.bases.hook import BaseHook
from airflow.sdk.log import mask_secret

from airflow_provider_arroyo.airflow_versions import AirflowException
from airflow_provider_arroyo.errors import SecretError

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CONNECTION = re.compile(r"conn:(?P<id>.+)\.(?:(?P<field>password|login|host)|extra\.(?P<key>[^.]+))")
_VARIABLE = re.compile(r"var:(?P<name>.+)")


@dataclass(frozen=True, slots=True)
class OfConnection:
    """A field of a connection, or a key of its extra."""

    id: str
    field: str | None
    key: str | None


@dataclass(frozen=True, slots=True)
class OfVariable:
    """An Airflow variable."""

    name: str


Source: TypeAlias = OfConnection | OfVariable


def read_sources(secrets: Mapping[str, str]) -> dict[str, Source]:
    """Parse the reference of each secret; refuse anything else when the DAG is read. The text is not repeated, since it
    may be the secret itself."""
    wrong = [name for name in secrets if not NAME.fullmatch(name)]
    if wrong:
        raise ValueError(f"{wrong[0]!r} is not a valid name of a secret; use letters, digits and underscores")
    return {name: _read(name, text) for name, text in secrets.items()}


def resolve(secrets: Mapping[str, str]) -> dict[str, str]:
    """The values, which no log shows from now on."""
    values = {name: _value(name, source) for name, source in read_sources(secrets).items()}
    for value in values.values():
        mask_secret(value)
    return values


def _read(name: str, text: str) -> Source:
    if match := _CONNECTION.fullmatch(text):
        return OfConnection(match["id"], match["field"], match["key"])
    if match := _VARIABLE.fullmatch(text):
        return OfVariable(match["name"])
    raise ValueError(f"secret {name} is neither conn:ID.password (or login, host, extra.KEY) nor var:NAME")


def _value(name: str, source: Source) -> str:
    match source:
        case OfConnection(conn_id, field, key):
            place = f"{field or f'extra.{key}'} of connection {conn_id!r}"
            value = _of_connection(name, conn_id, field, key)
        case OfVariable(variable):
            place = f"variable {variable!r}"
            value = Variable.get(variable, default=None)
        case never:
            assert_never(never)
    if value in (None, ""):
        raise SecretError(f"secret {name} is empty: there is no {place}", hint="Set it, and clear the task.")
    return str(value)


def _of_connection(name: str, conn_id: str, field: str | None, key: str | None) -> object:
    try:
        connection = BaseHook.get_connection(conn_id)
    except AirflowException as error:
        raise SecretError(f"secret {name} needs connection {conn_id!r}, which does not exist") from error
    return getattr(connection, field) if field else connection.extra_dejson.get(key)
