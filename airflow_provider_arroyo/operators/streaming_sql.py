"""Deploy a pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, Self, assert_never, get_args

import jinja2
from airflow.sdk import AssetAlias

from airflow_provider_arroyo import approval, lineage, protocols, requests, secret_sources, watermarks
from airflow_provider_arroyo.approval import UpgradePlan
from airflow_provider_arroyo.conditions import UntilState, UntilWatermark
from airflow_provider_arroyo.control_plane import ControlPlaneConnection
from airflow_provider_arroyo.declared_assets import DeclaredAssets, active_asset, assets_of, declared_assets, without
from airflow_provider_arroyo.deployments import DesiredPipeline, deploy, shown_plan
from airflow_provider_arroyo.durations import past_or_end_of_interval, to_optional_duration
from airflow_provider_arroyo.errors import ArroyoError
from airflow_provider_arroyo.events import Reached
from airflow_provider_arroyo.identity import AskedChange, idempotency_key, recall, remember, spec_digest
from airflow_provider_arroyo.operators.base import PipelineOperator, now, reached
from airflow_provider_arroyo.protocols import CHOICES, OnKill, carry_out
from airflow_provider_arroyo.requests import PipelineSpec, UpgradeWish
from airflow_provider_arroyo.secret_sources import spark_place

if TYPE_CHECKING:
    from airflow.sdk import Context

WaitFor = Literal["running", "complete", "finished", "none"]

UpgradeMode = Literal["auto", "plan_only", "never"]

OnLoss = Literal["fail", "approve"]

MEMORY = "arroyo_deployment"


class StreamingSqlOperator(PipelineOperator):
    """Deploy a pipeline and wait until it runs; do nothing if it already runs this script.

    There is one pipeline of this name, even if the task is retried. A try that finds it failed restarts it from its
    last checkpoint. A try fails if a user has stopped the pipeline since an earlier try, and names the user. A cleared
    task deploys again. The task ends when the pipeline runs; the pipeline outlives it.

    With `declare_assets`, the script's sources and sinks are the task's `inlets` and `outlets`, if the DAG's file has
    their locations. Airflow's asset graph shows them before the task has run.

    With `wait_for` `complete` or `finished` these outlets get an event. Each given `AssetAlias` gets one for every
    written table: `arroyo://HOST/PIPELINE/TABLE`, and the location of the sink. A deployment alone makes no event.

    :param pipeline: name of the pipeline (templated).
    :param sql: the script, or the name of a `.sql` file next to the DAG (templated).
    :param parallelism: number of parallel tasks; None leaves it as it is, also after a rescale (templated).
    :param settings: settings of the pipeline, all of them; None leaves them as they are (templated). The reference page
        "Settings of a pipeline" has their names: `{"master": "spark://HOST:7077", "state_url": "s3://bucket/prefix"}`.
    :param spark_conn_id: a connection of type `spark` with the location of the pipeline: its master, and from its extra
        `memory`, `shared_disk`, `max_epoch_rows`, `quick`, the settings of a cluster such as `state_url` and
        `executor_memory`, `spark.*`, and `epoch_interval` (the checkpoint interval). The operator's own parameters take
        precedence (templated). Needs the extra `[spark]`.
    :param secrets: the values of the script's secrets `${secret:NAME}`, by name: `conn:ID.password` (or `login`,
        `host`, `extra.KEY`) and `var:NAME`. They are sent separately from the script, stored encrypted, and never
        shown. None keeps the pipeline's secrets.
    :param udfs: Python sources with functions for the script, or names of `.py` files next to the DAG, all of them;
        None leaves them as they are.
    :param checkpoint_interval: time between checkpoints: a timedelta, seconds, or a text such as `10 seconds`; None
        leaves it as it is (templated).
    :param wait_for: `running`, `complete` (all output is complete up to `past`), `finished` (the input has ended), or
        `none`.
    :param past: with `wait_for="complete"`: the instant, as a datetime or in ISO form (templated); by default the end
        of the run's data interval.
    :param upgrade: `auto` takes over the state of the previous script, and fails if something would be lost;
        `plan_only` only shows the plan, in the log and as the result; `never` fails.
    :param keep_state: ids of operators whose state stays although the rows before it have changed (templated).
    :param reset: ids of operators, and sources and sinks, that may lose their state or position (templated).
    :param hold_back: ids of operators with an added aggregate whose open windows are suppressed, instead of emitted
        with NULL (templated).
    :param accept_loss: the id of a plan, such as `UpgradePlanOperator` returns, whose losses are accepted (templated).
    :param on_loss: with `upgrade="auto"`: `fail`, or `approve`: if something would be lost, the task waits for a
        person, in Airflow's list of required actions, and deploys exactly that plan once it is approved. It fails if
        the plan is rejected, or has changed by then.
    :param approval_timeout: longest wait for the approval; None waits forever.
    :param into: a prefix under which all sinks write (templated).
    :param force: discard the state that another script has left under this name.
    :param declare_assets: declare the script's inputs and outputs as inlets and outlets, unless the task has its own.
        The name of each asset is its URI: Airflow knows a URI by one name, and fails tasks that use another.
    :param on_kill: the action when a user ends the waiting task: `detach` (the pipeline keeps running), `stop`, or
        `savepoint_and_stop`. A lost worker never stops a pipeline of a deferrable task.
    """

    template_fields: Sequence[str] = (
        *PipelineOperator.template_fields,
        "sql",
        "parallelism",
        "settings",
        "checkpoint_interval",
        "spark_conn_id",
        "past",
        "keep_state",
        "reset",
        "hold_back",
        "accept_loss",
        "into",
    )
    template_fields_renderers = {"sql": "sql", "settings": "json"}  # noqa: RUF012 - as Airflow declares it
    template_ext: Sequence[str] = (".sql",)

    def __init__(
        self,
        *,
        pipeline: str,
        sql: str,
        parallelism: int | None = None,
        settings: Mapping[str, str] | None = None,
        spark_conn_id: str | None = None,
        secrets: Mapping[str, str] | None = None,
        udfs: Sequence[str] | None = None,
        checkpoint_interval: timedelta | float | str | None = None,
        wait_for: WaitFor = "running",
        past: datetime | str | None = None,
        upgrade: UpgradeMode = "auto",
        keep_state: Sequence[str] = (),
        reset: Sequence[str] = (),
        hold_back: Sequence[str] = (),
        accept_loss: str | None = None,
        on_loss: OnLoss = "fail",
        approval_timeout: timedelta | float | None = None,
        into: str | None = None,
        force: bool = False,
        declare_assets: bool = False,
        on_kill: OnKill = "detach",
        **kwargs: Any,
    ) -> None:
        given = {**(kwargs.get("default_args") or {}), **kwargs}
        is_given = given.get("inlets") is not None or given.get("outlets") is not None
        super().__init__(pipeline=pipeline, **kwargs)
        if wait_for not in get_args(WaitFor):
            raise ValueError(f"wait_for is {', '.join(get_args(WaitFor))}, not {wait_for!r}")
        if past is not None and wait_for != "complete":
            raise ValueError(f"past belongs to wait_for 'complete', not {wait_for!r}")
        if on_kill not in CHOICES:
            raise ValueError(f"on_kill is one of {', '.join(CHOICES)}, not {on_kill!r}")
        if upgrade not in get_args(UpgradeMode):
            raise ValueError(f"upgrade is {', '.join(get_args(UpgradeMode))}, not {upgrade!r}")
        if on_loss not in get_args(OnLoss):
            raise ValueError(f"on_loss is {', '.join(get_args(OnLoss))}, not {on_loss!r}")
        if on_loss == "approve" and (upgrade != "auto" or force):
            raise ValueError("on_loss 'approve' belongs to upgrade 'auto' without force: nothing else asks for a plan")
        secret_sources.read_sources(secrets or {})
        self.sql = sql
        self.secrets = secrets
        self.parallelism = parallelism
        self.settings = settings
        self.spark_conn_id = spark_conn_id
        self.udfs = udfs
        self.checkpoint_interval = checkpoint_interval
        self.wait_for = wait_for
        self.past = past
        self.upgrade = upgrade
        self.keep_state = keep_state
        self.reset = reset
        self.hold_back = hold_back
        self.accept_loss = accept_loss
        self.on_loss = on_loss
        self.approval_timeout = to_optional_duration(approval_timeout, "approval_timeout")
        self.into = into
        self.force = force
        self.kill_action = on_kill
        self._told: dict[str, Any] | None = None
        self.declare_assets = declare_assets
        is_declaring = declare_assets and not is_given
        self.declared = declared_assets(sql, self.get_dag()) if is_declaring else DeclaredAssets()
        self._declare()

    def _declare(self) -> None:
        """Declare the datasets of the script for Airflow's graph. Under a prefix it writes elsewhere."""
        self.inlets.extend(self.declared.inlets)
        if self.into is None:
            self.outlets.extend(self.declared.outlets)

    def prepare_for_execution(self) -> Self:
        """Return a copy for execution, without the declared datasets: Airflow would fail a task for an asset that has
        another name elsewhere, and would create an event of every outlet, even if nothing was written."""
        other = super().prepare_for_execution()
        other.inlets = without(self.inlets, self.declared.inlets)
        other.outlets = without(self.outlets, self.declared.outlets)
        return other

    @property
    def script(self) -> str:
        """The script that is deployed: with the statement that has it write elsewhere, if it is to."""
        return self.sql if self.into is None else writing_under(self.sql, self.into)

    def render_template(
        self,
        content: Any,
        context: Context,
        jinja_env: jinja2.Environment | None = None,
        seen_oids: set[int] | None = None,
    ) -> Any:
        """Render the template, and raise for undefined names with the line, even if the DAG lets them be empty."""
        try:
            return super().render_template(
                content, context, secret_sources.strict(jinja_env or self.get_template_env()), seen_oids
            )
        except (jinja2.UndefinedError, jinja2.TemplateSyntaxError) as error:
            raise secret_sources.refusal(error) from error

    def execute(self, context: Context) -> dict[str, Any]:
        """Deploy, publish the deployment, and wait as requested; or only preview the effect on the state."""
        if self.upgrade == "plan_only":
            return asdict(self._plan())
        if self.wait_for == "complete":
            self._past(context)  # refuses, before anything is done, a run that has no such instant
        if self.on_loss == "approve" and not self.accept_loss:
            plan = self._plan()
            if not plan.loses_nothing and not plan.is_refused:
                approval.ask(self, context, self.pipeline, plan, "execute_approved", self.approval_timeout)
        return self._deploy(context, self._wish(self.accept_loss))

    def execute_approved(self, context: Context, event: Any = None) -> dict[str, Any]:
        """Deploy after a person's approval; the approved plan must still be the current one."""
        approved = approval.check_answer(self, context, event)
        approval.check_same(approved, self._plan())
        return self._deploy(context, self._wish(approved))

    def _deploy(self, context: Context, wish: UpgradeWish) -> dict[str, Any]:
        spec = self._spec()
        token = self.hook.get_conn().token if spec.secrets else None
        digest = spec_digest(self.pipeline, spec, token)
        key = idempotency_key(context, f"deploy {digest} force" if self.force else f"deploy {digest}")
        desired = DesiredPipeline(self.pipeline, spec, digest, key, self.force, wish, lineage.asking_run(context["ti"]))
        deployed = self.hold(deploy(desired, recall(context, MEMORY, AskedChange), now))
        pipeline = deployed.pipeline.id
        before = None if deployed.before is None else str(deployed.before)
        remember(
            context, MEMORY, AskedChange(pipeline, digest, deployed.after_run, before, key, deployed.pipeline.version)
        )
        self.note(context, pipeline)
        match self.wait_for:
            case "none":
                pass
            case "running" | "finished" as goal:
                wait = UntilState(pipeline, goal, deployed.after_run, deployed.before, self.pipeline)
                return self._written(context, self._summary(pipeline, self.wait(wait, resume="execute_complete")))
            case "complete":
                # What was asked for must run first: the run before it may have failed, or belong to another version.
                runs = UntilState(pipeline, "running", deployed.after_run, deployed.before, self.pipeline)
                self.wait(runs, resume="execute_running")
                return self._complete(context, pipeline)
            case never:
                assert_never(never)
        return self._summary(pipeline)

    def execute_running(self, context: Context, event: object = None) -> dict[str, Any]:
        """Continue when the trigger fires, since the pipeline is running: wait for its output."""
        return self._complete(context, reached(event).pipeline)

    def execute_complete(self, context: Context, event: object = None) -> dict[str, Any]:
        """Complete the task when its trigger fires."""
        outcome = reached(event)
        return self._written(context, self._summary(outcome.pipeline, outcome))

    def _past(self, context: Context) -> datetime:
        return past_or_end_of_interval(self.past, context, type(self).__name__)

    def _complete(self, context: Context, pipeline: str) -> dict[str, Any]:
        task = context["ti"]
        wait = UntilWatermark(pipeline, self._past(context), dag_id=task.dag_id, run_id=task.run_id)
        return self._written(context, self._summary(pipeline, self.wait(wait, resume="execute_complete")))

    def _written(self, context: Context, summary: dict[str, Any]) -> dict[str, Any]:
        """Return the summary; the written datasets become events of the task's asset aliases. Warn if another
        deployment has replaced this task's version meanwhile."""
        asked = recall(context, MEMORY, AskedChange)
        if asked is not None and asked.version is not None and asked.version < summary["version"]:
            self.log.warning(
                "Pipeline %s: version %s of this task was replaced by version %s, which the result describes. "
                "`arroyo events %s` shows who deployed it.",
                summary["name"],
                asked.version,
                summary["version"],
                summary["name"],
            )
        aliases = [outlet for outlet in self.outlets if isinstance(outlet, AssetAlias)]
        declared = self.declared.outlets if self.into is None else ()  # no set: Airflow 3.1 cannot hash an asset
        if self.wait_for in ("complete", "finished") and (aliases or declared):
            pipeline = self.send(requests.get_pipeline(summary["pipeline_id"]))
            told: dict[str, Any] = {
                key: summary[key] for key in ("version", "lineage", "certificate") if key in summary
            }
            for asset, table in assets_of(self.hook.get_conn().url, pipeline):
                extra: dict[str, Any] = {
                    "pipeline": pipeline.name,
                    "table": table.name,
                    "output": self.wait_for,
                    **told,
                }
                active = active_asset(context, asset)
                if asset in declared:
                    self.outlets.append(active)
                    context["outlet_events"][active].extra = extra
                for alias in aliases:
                    context["outlet_events"][alias].add(active, extra=extra)
        return summary

    def on_kill(self) -> None:
        """Apply the chosen action, unless the triggerer does the waiting: there only a user's kill counts."""
        super().on_kill()
        # This runs inside a signal handler: what was interrupted may be in the middle of asking Airflow for the
        # connection, so the address that is known is used and nothing is asked for.
        if self.deferrable or (endpoint := self._endpoint) is None:
            return
        try:
            with ControlPlaneConnection(lambda: endpoint, requested_by=self.hook.requested_by) as connection:
                protocols.run(
                    carry_out(self.kill_action, self.pipeline, f"kill {now().isoformat()}"), connection.send, _no_pause
                )
        except ArroyoError:
            self.log.exception("Pipeline %s did not accept the request to %s", self.pipeline, self.kill_action)

    def _spec(self) -> PipelineSpec:
        settings = self._settings()
        interval = self._checkpoint_interval()
        if self.spark_conn_id:
            place = spark_place(self.spark_conn_id)
            settings = {**place.settings, **(settings or {})}
            interval = place.checkpoint_interval if interval is None else interval
        sources = self.sources_of(self.udfs)
        parallelism = None if self.parallelism is None else int(self.parallelism)
        secrets = None if self.secrets is None else secret_sources.resolve(self.secrets)
        return PipelineSpec(self.script, parallelism, settings, sources, interval, secrets)

    def _checkpoint_interval(self) -> timedelta | None:
        """Return the interval; None if its template renders to nothing."""
        given = self.checkpoint_interval
        is_given = not isinstance(given, str) or given.strip() not in ("", "None")
        return to_optional_duration(given, "checkpoint_interval") if is_given else None

    def _wish(self, accept_loss: str | None) -> UpgradeWish:
        return UpgradeWish(
            self.upgrade != "never",
            tuple(self.keep_state),
            tuple(self.reset),
            accept_loss or None,
            tuple(self.hold_back),
        )

    def _plan(self) -> UpgradePlan:
        """Preview the effect on the state; a new pipeline has none."""
        sources, wish = self.sources_of(self.udfs), self._wish(None)
        plan = self.hold(shown_plan(self.pipeline, self.script, sources, wish, now))
        self.log.info("%s", plan.text)
        return plan

    def _settings(self) -> dict[str, str] | None:
        return None if self.settings is None else {name: str(value) for name, value in self.settings.items()}

    def _summary(self, pipeline_id: str, outcome: Reached | None = None) -> dict[str, Any]:
        """Return the current pipeline as the control plane reports it, not as an event did."""
        pipeline = self.send(requests.get_pipeline(pipeline_id))
        summary = {
            "pipeline_id": pipeline.id,
            "name": pipeline.name,
            "state": str(pipeline.state),
            "version": pipeline.version,
            "lineage": self.send(watermarks.get_watermark(pipeline_id)).lineage,
            "plan": pipeline.plan,
        }
        certificate = None if outcome is None else outcome.certificate
        self._told = summary if certificate is None else {**summary, "certificate": certificate}
        return self._told

    def get_openlineage_facets_on_complete(self, task_instance: object) -> lineage.TaskLineage | None:
        """Return the lineage of the task: the datasets of the pipeline, and the certificate of its gate."""
        return None if self._told is None else lineage.of_pipeline(self.hook, self._told["name"], self._told)


def writing_under(script: str, prefix: str) -> str:
    """Return the script with the statement that sets the prefix of its sinks; the control plane validates the
    prefix."""
    text = prefix.replace("'", "''")
    return f"{script}\n;\nSET sink_prefix = '{text}';\n"


def _no_pause(_: timedelta) -> None:
    """Return immediately: a task that is killed has no time to wait."""
