"""Read the input of a pipeline again with a second pipeline, and optionally hand over to the result.

orders          runs ─────────────────────────── stops ─┐ ┌─ continues with the other state
orders-again           reads since 1 January ─── caught up ────┴─┘ and stays stopped
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_arroyo import copies, requests, secret_sources
from airflow_provider_arroyo.conditions import UntilHandedOver, UntilState
from airflow_provider_arroyo.identity import idempotency_key
from airflow_provider_arroyo.operators.base import PipelineOperator, reached
from airflow_provider_arroyo.requests import Json

if TYPE_CHECKING:
    from airflow.sdk import Context


class ReprocessOperator(PipelineOperator):
    """Create a second pipeline that reads the same input again and writes under a prefix, and wait until it runs; with
    `hand_over` until the first one continues with its query and its state.

    Retries create no further pipeline. If the input cannot be read again, the task fails, and no pipeline is created.
    If a hand-over is abandoned, the task fails with the reason, and both pipelines continue unchanged.

    :param pipeline: name or id of the pipeline whose input is read again (templated).
    :param into: the prefix under which the new one writes (templated).
    :param since: read rows from this event time on (templated).
    :param start_from: start positions of tables, such as `clicks=earliest` (templated).
    :param name: name of the new pipeline; by default that of the first one, a dash, and the prefix (templated).
    :param partial_windows: accept windows that `since` cuts through, with a part of their rows.
    :param secrets: references to the script's secrets, as in `StreamingSqlOperator`; None takes those of the first
        pipeline.
    :param hand_over: let the first pipeline continue with the query and the state of the new one once that has caught
        up, at exactly the next row.
    :param accept_other_values: with `hand_over`, accept that changelog rows are retracted with recomputed values, even
        if the first pipeline has written others; otherwise such a query is refused.
    """

    template_fields: Sequence[str] = (*PipelineOperator.template_fields, "into", "since", "start_from", "name")

    def __init__(
        self,
        *,
        pipeline: str,
        into: str,
        since: str | None = None,
        start_from: str | None = None,
        name: str | None = None,
        partial_windows: bool = False,
        secrets: Mapping[str, str] | None = None,
        hand_over: bool = False,
        accept_other_values: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(pipeline=pipeline, **kwargs)
        secret_sources.read_sources(secrets or {})
        self.into = into
        self.since = since
        self.start_from = start_from
        self.name = name
        self.partial_windows = partial_windows
        self.secrets = secrets
        self.hand_over = hand_over
        self.accept_other_values = accept_other_values

    def execute(self, context: Context) -> dict[str, Any]:
        """Request the copy, and wait until it runs, or until it has taken over."""
        wish: dict[str, Json] = {"into": self.into, "partial_windows": self.partial_windows}
        wish |= {"since": self.since} if self.since else {}
        wish |= {"start_from": self.start_from} if self.start_from else {}
        wish |= {"name": self.name} if self.name else {}
        key = idempotency_key(context, f"reprocess {self.pipeline} {sorted(wish.items())}")
        secrets = None if self.secrets is None else secret_sources.resolve(self.secrets)
        body = wish if secrets is None else {**wish, "secrets": dict(secrets)}
        made = self.ask(context, copies.reprocess(self.pipeline, body, key=key))
        for line in made.reprocesses.get("writes", ()):
            self.log.info("It writes %s", line)
        self.note(context, made.id)
        # asked for by an attempt before this one, it may have stopped for it
        if not self.hand_over or self.send(copies.get_hand_over(made.id)).step == "apart":
            self.wait(UntilState(made.id, "running", title=made.name), resume="execute_running")
        return self._go_on(context, made.id)

    def execute_running(self, context: Context, event: object = None) -> dict[str, Any]:
        """Continue when the trigger fires, since the copy is running."""
        return self._go_on(context, reached(event).pipeline)

    def execute_complete(self, context: Context, event: object = None) -> dict[str, Any]:
        """Complete the task when its trigger fires, since the copy has taken over."""
        return self._summary(reached(event).pipeline)

    def _go_on(self, context: Context, copy: str) -> dict[str, Any]:
        if self.hand_over:
            self.ask(context, copies.hand_over(copy, accept_other_values=self.accept_other_values))
            self.wait(UntilHandedOver(copy), resume="execute_complete")
        return self._summary(copy)

    def _summary(self, copy: str) -> dict[str, Any]:
        made = self.send(requests.get_pipeline(copy))
        summary = {"pipeline_id": made.id, "name": made.name, "state": str(made.state)}
        if not self.hand_over:
            return summary
        handed_over = self.send(copies.get_hand_over(copy))
        return {**summary, "handed_over_to": handed_over.pipeline, "version": handed_over.version}
