"""Convert an Airflow connection of type `spark` to settings of a pipeline.

    host spark://cluster:7077, extra {"memory": "4g"}    ->    {"master": "spark://cluster:7077", "memory": "4g"}
    extra {"epoch_interval": "10 seconds"}               ->    a checkpoint interval of 10 seconds

The driver runs next to the control plane, so only masters that accept an external driver (client mode) are allowed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from airflow_provider_arroyo.errors import BadConnectionError

MASTERS = re.compile(r"local(\[[^\]]+\])?|spark://.+")
SETTINGS = ("memory", "shared_disk", "max_epoch_rows", "quick")
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
    """The settings for a master, and those that the connection's extra names; what we cannot run on is refused."""
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
    chosen = {name: _setting(name, extra[name]) for name in SETTINGS if extra.get(name) not in (None, "")}
    return {"master": master, **chosen}


def _setting(name: str, value: object) -> str:
    """Return a value of the connection's extra as the text of a setting: JSON has true where a setting says `on`."""
    if name == "shared_disk" and str(value).lower() in ("true", "false"):
        return "on" if str(value).lower() == "true" else "off"
    return str(value)


def to_interval(spark_conn_id: str, extra: Mapping[str, object]) -> timedelta | None:
    """The least time between two checkpoints that the connection's extra names; none stands for zero, too."""
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
