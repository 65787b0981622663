"""Notice that an awaited pipeline was deleted meanwhile, also if another one has its name now.

GET /pipelines/orders/watermark   pl_1, closed    the wait is for pl_1
GET /pipelines/orders/watermark   pl_2, open      pipeline.deleted: pl_1 was deleted, pl_2 is another pipeline
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import unquote

from airflow_provider_arroyo.errors import DELETED_PIPELINE, UNKNOWN_PIPELINE, ArroyoError, RefusedError
from airflow_provider_arroyo.protocols import Conversation, Done, Pause, Step, resume
from airflow_provider_arroyo.responses import Pipeline
from airflow_provider_arroyo.watermarks import Watermark

T = TypeVar("T")


@dataclass(slots=True)
class AwaitedPipelines:
    """Ids of the pipelines that a wait has read, by the names it uses."""

    ids: dict[str, str] = field(default_factory=dict)

    def watch(self, conversation: Conversation[T]) -> Conversation[T]:
        """Run a protocol, in which a read of a pipeline fails if the pipeline is not the one of earlier reads."""
        step = resume(conversation, None)
        while not isinstance(step, Done):
            outcome: object
            try:
                outcome = yield step
            except ArroyoError as error:
                outcome = self._named(step, error)
            step = resume(conversation, self._replaced_by(step, outcome) or outcome)
        return step.value

    def _replaced_by(self, step: Step, answer: object) -> ArroyoError | None:
        """Return the error for an answer about another pipeline. A control plane of an earlier version leaves the
        id of a watermark out."""
        match answer:
            case Pipeline(id=found) | Watermark(pipeline_id=str(found)):
                name = _pipeline_of(step)
                known = self.ids.setdefault(name, found)
                if known != found:
                    return _deleted(name, known, f"; pipeline {found} has its name now")
        return None

    def _named(self, step: Step, error: ArroyoError) -> ArroyoError:
        """Return the error for the pipeline as the wait names it."""
        name = _pipeline_of(step)
        if error.code in (UNKNOWN_PIPELINE, DELETED_PIPELINE) and name in self.ids:
            return _deleted(name, self.ids[name])
        return error


def _pipeline_of(step: Step) -> str:
    """Return the pipeline that a request names; empty for a pause."""
    if isinstance(step, Pause):
        return ""
    segments = step.path.strip("/").split("/")
    return unquote(segments[1]) if segments[0] == "pipelines" and len(segments) > 1 else ""


def _deleted(name: str, known: str, rest: str = "") -> RefusedError:
    which = name if name == known else f"{name} ({known})"
    return RefusedError(
        f"pipeline {which} was deleted while this task waited for it{rest}",
        code=DELETED_PIPELINE,
        status=404,
        hint="Clear the task to wait for a pipeline that is deployed again under this name.",
    )
