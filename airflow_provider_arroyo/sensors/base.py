"""Base class of the sensors. They only read.

DAG          the sensor declares its condition as plain data, which may contain templates
start        in the triggerer (`SensorTrigger`), or on a worker, which polls once and defers (`PipelineTrigger`)
wait         `ArroyoHook.await_event` polls the condition (`polling.py`) until there is an event (`events.py`)
resume       the triggerer ends the task, or a worker does in `execute_complete`
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, Self

from airflow.sdk import BaseSensorOperator, PokeReturnValue
from airflow.triggers.base import StartTriggerArgs
from jinja2 import Environment, TemplateError, meta, nodes

from airflow_provider_arroyo import conditions
from airflow_provider_arroyo.airflow_versions import (
    RENDERS_IN_TRIGGERER,
    AirflowSensorTimeout,
    TaskDeferralTimeout,
    conf,
)
from airflow_provider_arroyo.conditions import Wait
from airflow_provider_arroyo.errors import ArroyoError
from airflow_provider_arroyo.links import PipelineLink, note_link

if TYPE_CHECKING:
    from airflow.sdk import Asset, Context

    from airflow_provider_arroyo.awaited_pipelines import AwaitedPipelines
    from airflow_provider_arroyo.events import Event, Reached
    from airflow_provider_arroyo.hooks.arroyo import ArroyoHook
    from airflow_provider_arroyo.lineage import TaskLineage

# Airflow parses DAG files often. So modules that a task needs only when it runs are imported where it does.

SENSOR_TRIGGER = "airflow_provider_arroyo.triggers.sensor.SensorTrigger"


class PipelineSensor(BaseSensorOperator):
    """Waits for a condition of one pipeline.

    A temporary outage of the control plane does not fail the sensor; a failed job does, with the job's own reason.

    :param pipeline: name or id of the pipeline (templated).
    :param arroyo_conn_id: the connection, of type `arroyo` (templated).
    :param deferrable: wait in the triggerer; by default `[operators] default_deferrable`. If Airflow allows it, the
        task then starts and ends in the triggerer without any worker.
    :param poke_interval: interval of polling, in seconds or as a timedelta.
    :param declare_assets: declare the sensor's inputs as inlets, unless the task has its own `inlets`: the locations
        that an upstream `StreamingSqlOperator` declares which deploys the pipeline. Off by default.
    """

    template_fields: Sequence[str] = ("pipeline", "arroyo_conn_id")
    operator_extra_links = (PipelineLink(),)
    ui_color = "#e3f1f6"

    def __init__(
        self,
        *,
        pipeline: str | Sequence[str],
        arroyo_conn_id: str = "arroyo_default",
        deferrable: bool | None = None,
        poke_interval: timedelta | float = 5,
        declare_assets: bool = False,
        **kwargs: Any,
    ) -> None:
        given = {**(kwargs.get("default_args") or {}), **kwargs}
        super().__init__(poke_interval=poke_interval, **kwargs)
        self.pipeline: Any = pipeline  # a template gives whatever it says
        self._told: dict[str, Any] | None = None
        self._awaited: AwaitedPipelines | None = None
        self.arroyo_conn_id = arroyo_conn_id
        self.deferrable = (
            conf.getboolean("operators", "default_deferrable", fallback=False) if deferrable is None else deferrable
        )

        self.declare_assets = declare_assets
        self._is_declaring = declare_assets and given.get("inlets") is None
        self._declared: tuple[Asset, ...] = ()

    def _declare(self) -> None:
        """Declare the awaited assets for Airflow's graph; those in unrendered templates are unknown."""
        entries = [self.pipeline] if isinstance(self.pipeline, str) else self.pipeline
        if self._is_declaring and isinstance(entries, list | tuple) and all(isinstance(one, str) for one in entries):
            from airflow_provider_arroyo.declared_assets import awaited_assets  # noqa: PLC0415 - see the top

            self._declared = awaited_assets(self._tables(), self.get_dag())
            self.inlets.extend(self._declared)

    def prepare_for_execution(self) -> Self:
        """Return a copy for execution, without the declared assets: Airflow would fail a task for an asset that has
        another name elsewhere."""
        other = super().prepare_for_execution()
        other.inlets = [asset for asset in self.inlets if not any(asset is it for it in self._declared)]
        return other

    @cached_property
    def hook(self) -> ArroyoHook:
        """The way to the control plane; made when the task runs."""
        from airflow_provider_arroyo.hooks.arroyo import ArroyoHook  # noqa: PLC0415 - see the top

        return ArroyoHook(self.arroyo_conn_id)

    @abstractmethod
    def condition(self) -> dict[str, Any]:
        """Return the condition of this sensor as plain data; it contains templates until they are rendered."""

    def wait(self, context: Context) -> Wait:
        """Return the condition of this sensor; equal for every call in one task."""
        return conditions.from_json(self.condition())

    def poke(self, context: Context) -> PokeReturnValue:
        """Poll once."""
        from airflow_provider_arroyo import events, polling  # noqa: PLC0415 - see the top
        from airflow_provider_arroyo.awaited_pipelines import AwaitedPipelines  # noqa: PLC0415 - the same

        self._awaited = self._awaited or AwaitedPipelines()
        try:
            event = self.hook.run(self._awaited.watch(polling.look(self.wait(context))))
        except ArroyoError as error:
            if not error.retryable:
                raise
            return PokeReturnValue(is_done=False)
        if event is None:
            return PokeReturnValue(is_done=False)
        return PokeReturnValue(is_done=True, xcom_value=self._tell(events.settle(event)))

    def execute(self, context: Context) -> Any:
        """Wait here, or in the triggerer if the condition is not met yet."""
        note_link(context, self.hook.get_conn().url, self.arroyo_conn_id, self.pipeline)
        if not self.deferrable:
            try:
                return super().execute(context)
            except AirflowSensorTimeout as error:
                raise self._timed_out(context) from error
        first_look = self.poke(context)
        if not first_look:
            self._defer(self.wait(context))
        return first_look.xcom_value

    def execute_complete(self, context: Context, event: object = None) -> Any:
        """Complete the sensor when its trigger fires. The event is trusted: a passed condition stays passed."""
        from airflow_provider_arroyo import events  # noqa: PLC0415 - see the top

        if event == events.ON_WORKER:
            return self.execute(context)
        if self.start_from_trigger:
            note_link(context, self.hook.get_conn().url, self.arroyo_conn_id, self.pipeline)
        return self._tell(_settle(events.from_json(event)))

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:
        """Continue after the triggerer. Airflow only reports that a task has timed out there, so the error adds how far
        the pipeline is."""
        try:
            return super().resume_execution(next_method, next_kwargs, context)
        except AirflowSensorTimeout as error:
            if not isinstance(error.__cause__, TaskDeferralTimeout):
                raise
            raise self._timed_out(context) from error

    def _timed_out(self, context: Context) -> AirflowSensorTimeout:
        """Return the error for a timeout: the condition, its progress, and what holds it."""
        from airflow_provider_arroyo import polling  # noqa: PLC0415 - see the top

        wait = self.wait(context)
        state = self.hook.run(polling.describe_state(wait))
        return AirflowSensorTimeout(
            f"waited {timedelta(seconds=self.timeout)} for {conditions.describe(wait)}; {state}"
        )

    def get_openlineage_facets_on_complete(self, task_instance: object) -> TaskLineage | None:
        """Return the lineage of the task: the awaited tables, and the certificates of their gates."""
        from airflow_provider_arroyo import lineage  # noqa: PLC0415 - see the top

        return None if self._told is None else lineage.of_readers(self.hook, self._tables(), self._told)

    def _tables(self) -> list[tuple[str, str | None]]:
        """Return the awaited pipelines, each with its table, or None for all."""
        entries = [self.pipeline] if isinstance(self.pipeline, str) else self.pipeline
        return [(entry, None) for entry in entries]

    def _tell(self, reached: Reached) -> dict[str, Any]:
        """Return the result of the task."""
        from airflow_provider_arroyo.events import summary  # noqa: PLC0415 - see the top

        self._told = summary(reached)
        return self._told

    def _start_in_triggerer(self) -> None:
        """Let Airflow start this task in the triggerer, unless it needs a worker: for XComs, variables and macros in
        templates, a callback at the start, or a subclass. Mapped tasks always need one."""
        wait = self.condition()
        can_start = RENDERS_IN_TRIGGERER and self.deferrable and type(self).__module__.startswith(__package__)
        needs_worker = self.on_execute_callback or getattr(self, "_pre_execute_hook", None)
        if not can_start or needs_worker or not is_renderable([self.arroyo_conn_id, wait]):
            return
        self.start_from_trigger = True
        self.start_trigger_args = StartTriggerArgs(
            trigger_cls=SENSOR_TRIGGER,
            next_method="execute_complete",
            trigger_kwargs={
                "arroyo_conn_id": self.arroyo_conn_id,
                "wait": _plain(wait),
                "poll_seconds": float(self.poke_interval),
                "pushes": bool(self.do_xcom_push),
                "ends_here": not (self.outlets or getattr(self, "_post_execute_hook", None)),
            },
            timeout=timedelta(seconds=self.timeout),
        )

    def _defer(self, wait: Wait) -> NoReturn:
        from airflow_provider_arroyo.triggers.pipeline import PipelineTrigger  # noqa: PLC0415 - see the top

        self.log.info("Waiting for %s", conditions.describe(wait))
        timeout = timedelta(seconds=self.timeout)
        deadline = datetime.now(UTC) + min(timeout, self.execution_timeout or timeout)
        self.defer(
            trigger=PipelineTrigger(
                arroyo_conn_id=self.arroyo_conn_id,
                wait=conditions.to_json(wait),
                deadline=deadline.isoformat(),
                poll_seconds=self.poke_interval,
                awaited=None if self._awaited is None else self._awaited.ids,
            ),
            method_name="execute_complete",
        )


def _settle(event: Event) -> Reached:
    from airflow_provider_arroyo.events import TimedOut, settle  # noqa: PLC0415 - see the top

    if isinstance(event, TimedOut):
        raise AirflowSensorTimeout(event.message)
    return settle(event)


def _plain(value: object) -> object:
    """Return a value in the form of the database."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return value.isoformat() if isinstance(value, datetime) else value


_NAMES = {
    "data_interval_end",
    "data_interval_start",
    "ds",
    "ds_nodash",
    "logical_date",
    "run_id",
    "ts",
    "ts_nodash",
    "ts_nodash_with_tz",
}
"""Template variables of a run that need no request."""


def is_renderable(value: object) -> bool:
    """Whether the triggerer renders the same value as a worker; False if that is uncertain."""
    if isinstance(value, dict):
        return all(map(is_renderable, value.values()))
    if isinstance(value, list | tuple):
        return all(map(is_renderable, value))
    if not isinstance(value, str):
        return value is None or isinstance(value, int | float | datetime)
    environment = Environment(autoescape=True)
    try:
        template = environment.parse(value)
        names = meta.find_undeclared_variables(template)
    except TemplateError:  # a filter that is not known here is one, too
        return False
    filters = {used.name for used in template.find_all(nodes.Filter)}
    return names <= _NAMES and filters <= environment.filters.keys()
