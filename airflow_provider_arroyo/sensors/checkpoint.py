"""Wait for a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_arroyo import conditions
from airflow_provider_arroyo.conditions import Wait
from airflow_provider_arroyo.identity import CountBefore, recall, remember
from airflow_provider_arroyo.sensors.base import PipelineSensor

if TYPE_CHECKING:
    from airflow.sdk import Context

MEMORY = "arroyo_checkpoint_base"


class CheckpointSensor(PipelineSensor):
    """Wait until a pipeline has committed a checkpoint that satisfies all given conditions.

    Without a condition, it waits for the first checkpoint.

    :param pipeline: name or id of the pipeline (templated).
    :param epoch: of this epoch or a later one (templated).
    :param newer_than: committed after this instant (templated).
    :param new: this number of checkpoints after the start of the sensor (templated).
    """

    template_fields: Sequence[str] = (*PipelineSensor.template_fields, "epoch", "newer_than", "new")

    def __init__(
        self,
        *,
        pipeline: str,
        epoch: int | str | None = None,
        newer_than: datetime | str | None = None,
        new: int | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(pipeline=pipeline, **kwargs)
        self.epoch = epoch
        self.newer_than = newer_than
        self.new = new
        self._base: int | None = None
        self._declare()
        if new is None:  # the epoch at which it began is in the task's store, which a worker has
            self._start_in_triggerer()

    def condition(self) -> dict[str, Any]:
        """Return the condition for a checkpoint, without `new`."""
        return {"kind": "checkpoint", "pipeline": self.pipeline, "epoch": self.epoch, "newer_than": self.newer_than}

    def wait(self, context: Context) -> Wait:
        """Return the condition for a checkpoint."""
        epochs = [int(self.epoch)] if self.epoch is not None else []
        epochs += [self._find_base(context) + int(self.new)] if self.new is not None else []
        return conditions.from_json({**self.condition(), "epoch": max(epochs, default=None)})

    def _find_base(self, context: Context) -> int:
        """Return the newest epoch when the sensor began to wait, also for a later poll by another worker."""
        if self._base is None and (remembered := recall(context, MEMORY, CountBefore)) is not None:
            self._base = remembered.count
        if self._base is None:
            from airflow_provider_arroyo import requests  # noqa: PLC0415 - no DAG file sends one

            jobs = self.hook.send(requests.list_jobs(self.pipeline))
            self._base = max((job.epoch for job in jobs if job.epoch is not None), default=-1)
            remember(context, MEMORY, CountBefore(self._base))
        return self._base
