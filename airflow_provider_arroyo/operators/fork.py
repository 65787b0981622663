"""Create a new pipeline from a savepoint of another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_arroyo import copies, requests, secret_sources
from airflow_provider_arroyo.conditions import UntilState
from airflow_provider_arroyo.identity import idempotency_key, spec_digest
from airflow_provider_arroyo.operators.base import PipelineOperator, reached
from airflow_provider_arroyo.requests import PipelineSpec, UpgradeWish

if TYPE_CHECKING:
    from airflow.sdk import Context


class ForkOperator(PipelineOperator):
    """Create a new pipeline from a savepoint of another one, and wait until it runs.

    The original keeps running. Retries create no second fork. The fork is refused if it would write to the targets of
    the original.

    :param pipeline: name of the new pipeline (templated).
    :param savepoint: id of the savepoint, such as `SavepointOperator` pushes (templated).
    :param sql: the script, or the name of a `.sql` file next to the DAG; it must write to other targets (templated).
    :param settings: settings of the pipeline, all of them; None takes those of the original (templated).
    :param udfs: Python sources with functions for the script, or names of `.py` files next to the DAG, all of them;
        None takes those of the original.
    :param secrets: references to the script's secrets, as in `StreamingSqlOperator`; None takes those of the original.
    :param keep_state: ids of operators whose state stays although the rows before it have changed (templated).
    :param reset: ids of operators and sources that may lose their state or position (templated).
    :param hold_back: ids of operators with an added aggregate whose open windows are suppressed, instead of emitted
        with NULL (templated).
    :param accept_loss: the id of a plan whose losses are accepted (templated).
    """

    template_fields: Sequence[str] = (
        *PipelineOperator.template_fields,
        "savepoint",
        "sql",
        "settings",
        "keep_state",
        "reset",
        "hold_back",
        "accept_loss",
    )
    template_fields_renderers = {"sql": "sql", "settings": "json"}  # noqa: RUF012 - as Airflow declares it
    template_ext: Sequence[str] = (".sql",)

    def __init__(
        self,
        *,
        pipeline: str,
        savepoint: str,
        sql: str,
        settings: Mapping[str, str] | None = None,
        udfs: Sequence[str] | None = None,
        secrets: Mapping[str, str] | None = None,
        keep_state: Sequence[str] = (),
        reset: Sequence[str] = (),
        hold_back: Sequence[str] = (),
        accept_loss: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(pipeline=pipeline, **kwargs)
        secret_sources.read_sources(secrets or {})
        self.savepoint = savepoint
        self.sql = sql
        self.settings = settings
        self.udfs = udfs
        self.secrets = secrets
        self.keep_state = keep_state
        self.reset = reset
        self.hold_back = hold_back
        self.accept_loss = accept_loss

    def execute(self, context: Context) -> dict[str, Any]:
        """Request the fork, and wait until it runs."""
        settings = None if self.settings is None else {name: str(value) for name, value in self.settings.items()}
        sources = self.sources_of(self.udfs)
        secrets = None if self.secrets is None else secret_sources.resolve(self.secrets)
        spec = PipelineSpec(self.sql, None, settings, sources, None, secrets)
        token = self.hook.get_conn().token if secrets else None
        key = idempotency_key(context, f"fork {self.savepoint} {spec_digest(self.pipeline, spec, token)}")
        wish = UpgradeWish(
            True, tuple(self.keep_state), tuple(self.reset), self.accept_loss or None, tuple(self.hold_back)
        )
        fork = self.ask(context, copies.fork_savepoint(self.savepoint, self.pipeline, spec, wish, key=key))
        self.note(context, fork.id)
        self.wait(UntilState(fork.id, "running", title=fork.name), resume="execute_complete")
        return self._summary(fork.id)

    def execute_complete(self, context: Context, event: object = None) -> dict[str, Any]:
        """Complete the task when its trigger fires."""
        return self._summary(reached(event).pipeline)

    def _summary(self, pipeline_id: str) -> dict[str, Any]:
        pipeline = self.send(requests.get_pipeline(pipeline_id))
        return {
            "pipeline_id": pipeline.id,
            "name": pipeline.name,
            "version": pipeline.version,
            "state": str(pipeline.state),
            "savepoint_id": self.savepoint,
        }
