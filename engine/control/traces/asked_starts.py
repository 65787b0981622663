"""Which deployment has asked for the start of a run. Kept in memory, and only until the run is up: a control plane that
is started anew in between tells of the start by itself.

    05:29:57    a deployment of orders makes version 2, and asks for a start
    05:29:58    run 3 of orders is launched: it is the one that was asked for
    05:30:09    its first epoch: its start is told of as part of the deployment
    05:41:00    run 3 dies, run 4 is launched: nobody has asked for that one
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from engine.control.traces.spans import SpanId
from engine.jobs.decisions.spec import Pipeline
from engine.jobs.decisions.status import Run


@dataclass(slots=True)
class AskedStarts:
    """The deployments whose runs are not up yet, by job; the newest counts."""

    _asked: dict[str, tuple[datetime, SpanId]] = field(default_factory=dict)

    def ask(self, job_id: str, at: datetime, deployment: SpanId) -> None:
        """A deployment asks for a start."""
        self._asked[job_id] = (at, deployment)

    def take(self, run: Run) -> SpanId | None:
        """The deployment that has asked for the start of a run which is up now. One that was launched before cannot be
        meant: the run that was asked for is still to come."""
        match self._asked.get(run.job_id):
            case (at, deployment) if at <= run.launched_at:
                del self._asked[run.job_id]
                return deployment
        return None

    def forget(self, job_id: str) -> None:
        """The job is not to start any more."""
        self._asked.pop(job_id, None)


def asks_for_start(before: Pipeline | None, after: Pipeline) -> bool:
    """Whether a deployment that makes this of a pipeline has a run started."""
    if after.stop != "none":
        return False
    return before is None or _wanted_run(before) != _wanted_run(after)


def _wanted_run(pipeline: Pipeline) -> tuple[object, ...]:
    return pipeline.version, pipeline.parallelism, pipeline.stop, pipeline.restarts_asked
