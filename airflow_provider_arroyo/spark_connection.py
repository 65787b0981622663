"""From an Airflow connection of type `spark` to settings of a pipeline: which Spark runs it, and how.

    host spark://cluster:7077, extra {"memory": "4g"}    ->    {"master": "spark://cluster:7077", "memory": "4g"}

The driver runs beside the control plane, so only masters that take a driver from outside are allowed, in client mode.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from airflow_provider_arroyo.errors import BadConnectionError

MASTERS = re.compile(r"local(\[[^\]]+\])?|spark://.+")
SETTINGS = ("memory", "epoch_interval", "max_epoch_rows", "quick")
"""The keys of the connection's extra that become settings of the pipeline; all others belong to other operators."""


def spark_settings(spark_conn_id: str) -> dict[str, str]:
    """The settings that a connection stands for, as the hook of the Spark provider resolves it."""
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
    return to_settings(spark_conn_id, str(resolved["master"]), resolved["deploy_mode"], extra)


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
    chosen = {name: str(extra[name]) for name in SETTINGS if extra.get(name) not in (None, "")}
    return {"master": master, **chosen}
