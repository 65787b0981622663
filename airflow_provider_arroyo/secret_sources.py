"""References from a pipeline's secrets to Airflow's connections and variables, resolved when the task runs.

    conn:kafka.password          the password of the connection kafka; also login and host
    conn:kafka.extra.sasl_key    a key of its extra
    var:registry_token           a variable

A DAG contains only such references. The values are sent to the control plane only: they are in no template field and no
XCom, and are masked in logs.

Convert an Airflow connection of type `spark` to settings of a pipeline.

    host spark://cluster:7077, extra {"memory": "4g"}    ->    {"master": "spark://cluster:7077", "memory": "4g"}
    extra {"epoch_interval": "10 seconds"}               ->    a checkpoint interval of 10 seconds

The driver runs next to the control plane, so only masters that accept an external driver (client mode) are allowed.

Render templates, and refuse undefined names with their location.

    SELECT '{{ ds }}'                '2026-01-31'
    SELECT '{{ KAFKA_PASSWORD }}'    template.undefined: 'KAFKA_PASSWORD' is undefined in line 1 of the template
    SELECT '{{ secret:KAFKA }}'      template.syntax: ...
    SELECT '${secret:KAFKA}'         unchanged: the control plane resolves it

A DAG may render undefined variables as empty text (`template_undefined`). In a script that would silently change a
password, a topic or a path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import TypeAlias, assert_never

import jinja2
from airflow.sdk import Variable
from airflow.sdk.bases.hook import BaseHook
from airflow.sdk.log import mask_secret

from airflow_provider_arroyo.airflow_versions import AirflowException
from airflow_provider_arroyo.errors import BadConnectionError, SecretError, TemplateError

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
    """Return the values, which no log shows from now on."""
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


MASTERS = re.compile(r"local(\[[^\]]+\])?|spark://.+")
CLUSTER_SETTINGS = (
    "state_url",
    "driver_host",
    "driver_bind_address",
    "driver_port",
    "block_manager_port",
    "mailbox_port",
    "executor_memory",
    "executor_cores",
    "max_cores",
    "executor_python",
    "executor_archive",
    "jars",
)
SPARK_PREFIX = "spark."
"""Keys of the extra that begin so are settings of Spark; the control plane refuses those that are not allowed."""
SETTINGS = ("memory", "shared_disk", "max_epoch_rows", "quick", *CLUSTER_SETTINGS)
"""Keys of the connection's extra that become settings of the pipeline."""
INTERVAL = "epoch_interval"
"""The key that becomes its checkpoint interval; all others belong to other operators."""
_LENGTH = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)\s*([a-z]*)")
_SECONDS = {
    "": 1,
    "ms": 0.001,
    "millisecond": 0.001,
    "s": 1,
    "second": 1,
    "m": 60,
    "minute": 60,
    "h": 3600,
    "hour": 3600,
}
"""Units of a duration, in the singular; a number alone is in seconds."""


@dataclass(frozen=True, slots=True)
class SparkPlace:
    """Settings from a connection: where a pipeline runs, and how."""

    settings: Mapping[str, str]
    checkpoint_interval: timedelta | None = None


def spark_place(spark_conn_id: str) -> SparkPlace:
    """Resolve a connection as the hook of the Spark provider does."""
    try:
        from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook  # noqa: PLC0415 - an extra
    except ImportError:
        raise BadConnectionError(
            f"connection {spark_conn_id!r} needs the Apache Spark provider, which is not installed",
            hint="Run pip install 'airflow-provider-arroyo[spark]', or name the master in `settings`.",
        ) from None

    hook = SparkSubmitHook(conn_id=spark_conn_id)
    resolved = hook._connection  # noqa: SLF001 - the hook has no public way to say what it has resolved
    extra = hook.get_connection(spark_conn_id).extra_dejson
    settings = to_settings(spark_conn_id, str(resolved["master"]), resolved["deploy_mode"], extra)
    return SparkPlace(settings, to_interval(spark_conn_id, extra))


def to_settings(
    spark_conn_id: str, master: str, deploy_mode: str | None, extra: Mapping[str, object]
) -> dict[str, str]:
    """Return the settings for a master, and the ones in the connection's extra; raise for unsupported ones."""
    if not MASTERS.fullmatch(master):
        raise BadConnectionError(
            f"connection {spark_conn_id!r} leads to {master}, where pipelines cannot run yet",
            hint="Use a connection to local[N] or to spark://HOST:PORT.",
        )
    if deploy_mode not in (None, "", "client"):
        raise BadConnectionError(
            f"connection {spark_conn_id!r} asks for deploy mode {deploy_mode!r}; pipelines run in client mode",
            hint="Set its deploy mode to client, or leave it out.",
        )
    names = (*SETTINGS, *(name for name in extra if name.startswith(SPARK_PREFIX)))
    chosen = {name: _setting(name, extra[name]) for name in names if extra.get(name) not in (None, "")}
    return {"master": master, **chosen}


def _setting(name: str, value: object) -> str:
    """Return a value of the connection's extra as a setting: `on` for JSON's true."""
    if name == "shared_disk" and str(value).lower() in ("true", "false"):
        return "on" if str(value).lower() == "true" else "off"
    if isinstance(value, list):
        return ",".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def to_interval(spark_conn_id: str, extra: Mapping[str, object]) -> timedelta | None:
    """Return the least time between two checkpoints that the connection's extra names; None also means zero."""
    text = str(extra.get(INTERVAL) or "").strip().lower()
    if not text:
        return None
    length = _LENGTH.fullmatch(text)
    word = "" if length is None else length[2]
    seconds = _SECONDS.get(word, _SECONDS.get(word.removesuffix("s")))
    if length is None or seconds is None:
        raise BadConnectionError(
            f"connection {spark_conn_id!r} has the {INTERVAL} {text!r}, which is not a length of time",
            hint="Write for example '10 seconds'.",
        )
    return timedelta(seconds=float(length[1]) * seconds) or None


SECRETS_HINT = "A secret is written ${secret:NAME} in a DAG, which templates leave alone."


def strict(environment: jinja2.Environment) -> jinja2.Environment:
    """Return the environment with strict undefined values."""
    finalize = environment.finalize or _defined
    return environment.overlay(undefined=jinja2.StrictUndefined, finalize=finalize)


def refusal(error: jinja2.UndefinedError | jinja2.TemplateSyntaxError) -> TemplateError:
    """Return the error of a template, with the line."""
    if isinstance(error, jinja2.TemplateSyntaxError):
        where = _where(error.lineno, error.filename)
        return TemplateError(f"{error.message} {where}", code="template.syntax", hint=SECRETS_HINT)
    hint = f"Define it, or give it a default: {{{{ name | default('...') }}}}. {SECRETS_HINT}"
    message = f"{error.message} {_where_raised(error.__traceback__)}"
    return TemplateError(message, code="template.undefined", hint=hint)


def _defined(value: object) -> object:
    """Return the value of an expression; raise for an undefined one here, where its line is known."""
    if isinstance(value, jinja2.Undefined):
        str(value)
    return value


def _where_raised(trace: TracebackType | None) -> str:
    """Return the place in the innermost template that an error has passed through."""
    where = "in the template"
    while trace is not None:
        # Airflow renders without the part of Jinja that puts the template's lines into a traceback.
        template = trace.tb_frame.f_globals.get("__jinja_template__")
        if isinstance(template, jinja2.Template):
            where = _where(template.get_corresponding_lineno(trace.tb_lineno), template.filename)
        trace = trace.tb_next
    return where


def _where(line: int | None, filename: str | None) -> str:
    name = "the template" if filename in (None, "<template>", "<unknown>") else Path(str(filename)).name
    return f"in line {line} of {name}"
