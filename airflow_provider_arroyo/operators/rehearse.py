"""Compare the output of a new script with that of the running one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow_provider_arroyo import rehearsals
from airflow_provider_arroyo.conditions import UntilRehearsed
from airflow_provider_arroyo.deployments import find
from airflow_provider_arroyo.durations import to_optional_duration
from airflow_provider_arroyo.errors import RefusedError, RehearsalError, RehearsalRefusedError, RowsDifferError
from airflow_provider_arroyo.identity import CountBefore, idempotency_key, pushed_before, recall, remember
from airflow_provider_arroyo.operators.base import PipelineOperator, now, reached
from airflow_provider_arroyo.rehearsals import Rehearsal
from airflow_provider_arroyo.requests import Json

if TYPE_CHECKING:
    from airflow.sdk import Context

MEMORY = "arroyo_rehearsal_failures"
RESULT = "rehearsal"
_LATER = ("rehearsal.busy", "rehearsal.no_room", "rehearsal.no_memory")
"""Error codes of temporary refusals."""
_FINAL = ("rehearsal.stopped", "rehearsal.too_long")
"""Results after which a retry is useless."""


class RehearseOperator(PipelineOperator):
    """Rehearse a script: run it and the running one from copies of the state over the same input, and compare their
    output. The pipeline is not affected.

    The log has a table of differing rows by sink, with examples. The result has `differs`, `sinks`, `rows_in`,
    `ranges`, `plan`. The task fails if a row differs, unless `on_difference` says otherwise. Retries join the rehearsal
    of an earlier try; a failed one is repeated. Without a pipeline, `differs` is None, and the task succeeds.

    :param pipeline: name or id of the pipeline (templated).
    :param sql: the script, or the name of a `.sql` file next to the DAG (templated).
    :param udfs: Python sources with functions for the script, or names of `.py` files next to the DAG, all of them;
        None takes those of the pipeline.
    :param keep_state: ids of operators whose state stays although the rows before it have changed (templated).
    :param reset: ids of operators, and sources and sinks, that may lose their state or position (templated).
    :param hold_back: ids of operators with an added aggregate whose open windows are suppressed, instead of emitted
        with NULL (templated).
    :param savepoint: id of the savepoint from which both start; None is the newest epoch (templated).
    :param examples: number of rows to show of each sink that differs.
    :param limit: longest duration of the rehearsal; None is the control plane's own limit.
    :param on_difference: `fail`, or `report`: the task succeeds, and downstream tasks decide.
    """

    template_fields: Sequence[str] = (
        *PipelineOperator.template_fields,
        *("sql", "keep_state", "reset", "hold_back", "savepoint"),
    )
    template_fields_renderers = {"sql": "sql"}  # noqa: RUF012 - as Airflow declares it
    template_ext: Sequence[str] = (".sql",)

    def __init__(
        self,
        *,
        pipeline: str,
        sql: str,
        udfs: Sequence[str] | None = None,
        keep_state: Sequence[str] = (),
        reset: Sequence[str] = (),
        hold_back: Sequence[str] = (),
        savepoint: str | None = None,
        examples: int = 10,
        limit: timedelta | float | None = None,
        on_difference: str = "fail",
        **kwargs: Any,
    ) -> None:
        super().__init__(pipeline=pipeline, **kwargs)
        if on_difference not in ("fail", "report"):
            raise ValueError(f"on_difference is fail or report, not {on_difference!r}")
        self.sql = sql
        self.udfs = udfs
        self.keep_state = keep_state
        self.reset = reset
        self.hold_back = hold_back
        self.savepoint = savepoint
        self.examples = examples
        self.limit = to_optional_duration(limit, "limit")
        self.on_difference = on_difference

    def execute(self, context: Context) -> dict[str, Any]:
        """Request the rehearsal, and wait until it has ended."""
        pipeline = self.hold(find(self.pipeline, now))
        if pipeline is None:
            self.log.info("There is no pipeline %s yet, so there is nothing to compare with", self.pipeline)
            return {"rehearsal_id": None, "pipeline_id": None, "differs": None, "sinks": []}
        self.note(context, pipeline.id)
        wish = self._wish()
        key = idempotency_key(context, f"rehearse {pipeline.id} {sorted(wish.items())} {_failures(context)}")
        try:
            rehearsal = self.send(rehearsals.rehearse(pipeline.id, wish, key=key))
        except RefusedError as error:
            if error.code in _LATER:
                raise RehearsalError(error.message, code=error.code, hint=error.hint) from error
            raise
        context["ti"].xcom_push(key="rehearsal_id", value=rehearsal.id)
        if not rehearsal.is_over:
            self.wait(UntilRehearsed(pipeline.id, rehearsal.id), resume="execute_complete")
        return self._outcome(context, pipeline.id, rehearsal.id)

    def execute_complete(self, context: Context, event: object = None) -> dict[str, Any]:
        """Complete the task when its trigger fires, since the rehearsal has ended."""
        pipeline = reached(event).pipeline
        return self._outcome(context, pipeline, str(pushed_before(context, "rehearsal_id")))

    def _wish(self) -> dict[str, Json]:
        wish: dict[str, Json] = {
            "query": self.sql,
            "keep_state": list(self.keep_state),
            "reset": list(self.reset),
            "hold_back": list(self.hold_back),
            "examples": self.examples,
        }
        if (sources := self.sources_of(self.udfs)) is not None:
            wish["udfs"] = list(sources)
        if self.savepoint:
            wish["savepoint_id"] = self.savepoint
        if self.limit is not None:
            wish["limit_micros"] = self.limit // timedelta(microseconds=1)
        return wish

    def _outcome(self, context: Context, pipeline: str, rehearsal_id: str) -> dict[str, Any]:
        """Return the findings; raise if there are none, or if rows differ that may not."""
        rehearsal = self.send(rehearsals.get_rehearsal(pipeline, rehearsal_id))
        if rehearsal.report is None:
            remember(context, MEMORY, CountBefore(_failures(context) + 1))
            raise _error_of(rehearsal)
        self.log.info("What would be written otherwise:\n%s\n\n%s", table(rehearsal.report), rehearsal.text)
        result = {"rehearsal_id": rehearsal.id, "pipeline_id": pipeline, **rehearsal.report}
        context["ti"].xcom_push(key=RESULT, value=result)  # a task that fails has no other result
        if rehearsal.differs and self.on_difference == "fail":
            raise RowsDifferError("the script would write other rows than the one that runs", hint=rehearsal.text)
        return result


def table(report: Mapping[str, Any]) -> str:
    """Return a table of each sink's rows under both scripts, and under only one of them."""
    head = ("SINK", "ROWS OLD", "ROWS NEW", "ONLY OLD", "ONLY NEW", "")
    named = ("sink", "rows_old", "rows_new", "only_old", "only_new")
    rows = [
        (
            *("-" if sink.get(name) is None else str(sink[name]) for name in named),
            "differs" if sink.get("differs") else "same",
        )
        for sink in report.get("sinks", ())
    ]
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in (head, *rows)]
    return "\n".join("  ".join(line).rstrip() for line in lines)


def _error_of(rehearsal: Rehearsal) -> RehearsalError:
    failure = rehearsal.failure
    if failure is None:
        return RehearsalError(f"rehearsal {rehearsal.id} is {rehearsal.state}", code="rehearsal.failed")
    kind = RehearsalRefusedError if failure.code in _FINAL else RehearsalError
    return kind(f"rehearsal {rehearsal.id}: {failure.message}", code=failure.code, hint=failure.hint)


def _failures(context: Context) -> int:
    """Count the failed rehearsals of this task. Each further one needs a key of its own, since the old key returns the
    failed one."""
    failures = recall(context, MEMORY, CountBefore)
    return 0 if failures is None else failures.count
