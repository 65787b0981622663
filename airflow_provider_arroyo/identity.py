"""Idempotency keys: the control plane recognises a task on any try and worker."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import AliasChoices, Field, TypeAdapter, ValidationError

from airflow_provider_arroyo.airflow_versions import NEVER_EXPIRE
from airflow_provider_arroyo.requests import Json, PipelineSpec

if TYPE_CHECKING:
    from airflow.sdk import Context

M = TypeVar("M", "AskedChange", "CountBefore")


def idempotency_key(context: Context, action: str) -> str:
    """Return a key that is equal for every try of one task of one run. A task that a person clears may be tried more
    often than before, which changes its key."""
    task = context["ti"]
    return _hash([task.dag_id, task.run_id, task.task_id, task.map_index, task.max_tries, action])


def spec_digest(name: str, spec: PipelineSpec, token: str | None = None) -> str:
    """Return a digest that is equal for equal specs of one pipeline, and differs if a secret differs.

    Digests are kept, by Airflow too. So that nobody finds a secret by trying likely ones, it goes into them under the
    token, and only with 32 bits, which many texts share.
    """
    mark = [] if spec.secrets is None else [_secrets_mark(spec.secrets, token or "")]
    return _hash([name, spec.to_json(), *mark])


@dataclass(frozen=True, slots=True)
class AskedChange:
    """Change that an earlier try of this task has requested: the run and state before it, and its idempotency key."""

    pipeline: str
    digest: str
    run: int | None = None
    before: str | None = None
    key: str | None = None
    version: int | None = None
    """Version that a deployment has made."""


@dataclass(frozen=True, slots=True)
class CountBefore:
    """A number that an earlier try of this task has stored: failures so far, or the epoch at its start."""

    count: Annotated[int, Field(validation_alias=AliasChoices("count", "run"))]


def recall(context: Context, key: str, kind: type[M]) -> M | None:
    """Read the record of an earlier try from the task's state store; None without a store, or if it is no `kind`."""
    store = context.get("task_state_store")
    if store is None:
        return None
    try:
        return TypeAdapter(kind).validate_python(store.get(key))
    except ValidationError:
        return None


def remember(context: Context, key: str, memory: AskedChange | CountBefore) -> None:
    """Store a record for the next try. A stream outlives the store's usual 30 days, so it never expires."""
    store = context.get("task_state_store")
    if store is not None:
        store.set(key, asdict(memory), retention=NEVER_EXPIRE)


def pushed_before(context: Context, key: str) -> Any:
    """Return what this task has pushed before it was deferred. For a mapped task Airflow returns a list over all its
    instances, unless it is told which one asks."""
    task = context["ti"]
    return task.xcom_pull(task_ids=task.task_id, key=key, map_indexes=task.map_index)


def _secrets_mark(secrets: Mapping[str, str], token: str) -> str:
    text = json.dumps(secrets, sort_keys=True)
    return hmac.new(token.encode(), text.encode(), hashlib.sha256).hexdigest()[:8]


def _hash(parts: Sequence[Json]) -> str:
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
