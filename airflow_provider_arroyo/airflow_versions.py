"""Differences between Airflow versions from 3.1 on, detected by feature and not by version number.

Other modules import these names from here. Each is resolved at its first use, since some take long to import.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow.sdk import RetryDecision, RetryPolicy, conf
    from airflow.sdk.bases.decorator import determine_kwargs
    from airflow.sdk.exceptions import (
        AirflowException,
        AirflowFailException,
        AirflowNotFoundException,
        AirflowSensorTimeout,
        AirflowSkipException,
        TaskDeferralTimeout,
        TaskDeferred,
    )
    from airflow.sdk.execution_time.context import NEVER_EXPIRE
    from airflow.sdk.log import amask_secret
    from airflow.sdk.plugins_manager import AirflowPlugin
    from airflow.serialization.definitions.operatorlink import XComOperatorLink
    from airflow.triggers.shared_stream import AdvanceItem, SharedStreamProducer

    RENDERS_IN_TRIGGERER: bool
    """Whether a task that starts in the triggerer can have templates; where not, sensors begin on a worker."""

__all__ = [
    "NEVER_EXPIRE",
    "RENDERS_IN_TRIGGERER",
    "AdvanceItem",
    "AirflowException",
    "AirflowFailException",
    "AirflowNotFoundException",
    "AirflowPlugin",
    "AirflowSensorTimeout",
    "AirflowSkipException",
    "RetryDecision",
    "RetryPolicy",
    "SharedStreamProducer",
    "TaskDeferralTimeout",
    "TaskDeferred",
    "XComOperatorLink",
    "amask_secret",
    "conf",
    "determine_kwargs",
]

_EXCEPTIONS = ("airflow.sdk.exceptions", "airflow.exceptions")
_PLACES: Mapping[str, Sequence[str]] = {
    "AdvanceItem": ("airflow.triggers.shared_stream",),
    "AirflowException": _EXCEPTIONS,
    "AirflowFailException": _EXCEPTIONS,
    "AirflowNotFoundException": _EXCEPTIONS,
    "AirflowPlugin": ("airflow.sdk.plugins_manager", "airflow.plugins_manager"),
    "AirflowSensorTimeout": _EXCEPTIONS,
    "AirflowSkipException": _EXCEPTIONS,
    "TaskDeferralTimeout": _EXCEPTIONS,
    "TaskDeferred": _EXCEPTIONS,
    "NEVER_EXPIRE": ("airflow.sdk.execution_time.context",),
    "RetryDecision": ("airflow.sdk",),
    "RetryPolicy": ("airflow.sdk",),
    "SharedStreamProducer": ("airflow.triggers.shared_stream",),
    "XComOperatorLink": (
        "airflow.serialization.definitions.operatorlink",
        "airflow.serialization.serialized_objects",
    ),
    "amask_secret": ("airflow.sdk.log",),
    "determine_kwargs": ("airflow.sdk.bases.decorator", "airflow.utils.operator_helpers"),
    "conf": ("airflow.sdk", "airflow.configuration"),
}
"""Modules of each name; that of the newest Airflow is first."""


async def _mask_at_once(secret: str) -> None:
    """Mask a secret where Airflow has no way that does not block: before 3.3 it only writes to a pipe."""
    from airflow.sdk.log import mask_secret  # noqa: PLC0415 - only older versions come here

    mask_secret(secret)


_INSTEAD: Mapping[str, Any] = {
    "AdvanceItem": Any,  # each watcher runs by itself
    "SharedStreamProducer": object,
    "NEVER_EXPIRE": None,  # tasks have no store
    "RetryDecision": None,
    "RetryPolicy": object,
    "amask_secret": _mask_at_once,
}
"""Replacements for names that an Airflow version lacks."""


def __getattr__(name: str) -> Any:
    """Look a name up, once."""
    if name == "RENDERS_IN_TRIGGERER":
        value: Any = hasattr(importlib.import_module("airflow.triggers.base").BaseTrigger, "render_template_fields")
    elif name in _PLACES:
        value = _find(name)
    else:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    globals()[name] = value
    return value


def _find(name: str) -> Any:
    for place in _PLACES[name]:
        try:
            return getattr(importlib.import_module(place), name)
        except (ImportError, AttributeError):
            continue
    if name in _INSTEAD:
        return _INSTEAD[name]
    raise ImportError(f"this Airflow has no {name}: apache-airflow 3.1 or newer is needed")
