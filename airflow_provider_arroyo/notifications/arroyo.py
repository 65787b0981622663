"""Notifier about the state of a pipeline."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from airflow.sdk.bases.notifier import BaseNotifier

from airflow_provider_arroyo.airflow_versions import AirflowException
from airflow_provider_arroyo.durations import to_optional_duration
from airflow_provider_arroyo.hooks.arroyo import ArroyoHook
from airflow_provider_arroyo.links import page_of
from airflow_provider_arroyo.protocols import utc_now
from airflow_provider_arroyo.reports import Report, report_on

if TYPE_CHECKING:
    from airflow.sdk import Context

Condition = Literal["failed", "lag", "state_lost"]

Delivery: TypeAlias = "BaseNotifier | Callable[[str], object]"

LOOK_BACK = timedelta(days=1)
"""How far back to look for lost state if Airflow knows no earlier run."""


class ArroyoNotifier(BaseNotifier):
    """Tell what Airflow does not know of a pipeline: its state, why it failed and what to do, how far it is behind,
    whether its state was lost, and where its page is.

    It is a callback of a task or a DAG, and sends its message with any notifier. The notifier's templates may use
    `arroyo` (the report: `{{ arroyo.headline }}`, `arroyo.state`, `arroyo.code`, `arroyo.hint`, `arroyo.lag`, ...) and
    `arroyo_message` (the message):

        SMTP = SmtpNotifier(to="ops@shop.example", subject="{{ arroyo.headline }}", html_content="{{ arroyo_message }}")
        DAG(..., default_args={"on_failure_callback": ArroyoNotifier(message="html", deliver=SMTP)})

    The message is sent even if the control plane does not respond: it then reports what is unknown.

    :param pipeline: name or id of the pipeline, or several (templated); by default those of the task that calls it.
    :param arroyo_conn_id: the connection (templated); by default that of the task that calls it.
    :param deliver: a notifier, a function that takes the message, or several; by default the log of the task.
    :param message: `text`, `line`, `markdown`, `html`, or a template.
    :param when: send only if one of these holds: `failed`, `lag`, `state_lost`; by default always. If the state is
        unknown, the message is sent in any case.
    :param lag: with `when` `lag`: send if the watermark is further behind the clock.
    :param since: report losses of state since this instant; by default since the DAG's last successful run.
    :param context: Airflow's, where it makes the notifier itself.
    """

    template_fields: Sequence[str] = ("pipeline", "arroyo_conn_id")

    def __init__(
        self,
        pipeline: str | Sequence[str] | None = None,
        arroyo_conn_id: str | None = None,
        *,
        deliver: Delivery | Sequence[Delivery] = (),
        message: str = "text",
        when: Sequence[Condition] = (),
        lag: timedelta | float | None = None,
        since: datetime | None = None,
        context: Context | None = None,
    ) -> None:
        super().__init__(**({} if context is None else {"context": context}))
        conditions = (when,) if isinstance(when, str) else tuple(when)
        if unknown := [condition for condition in conditions if condition not in get_args(Condition)]:
            raise ValueError(f"when is {', '.join(get_args(Condition))}, not {unknown[0]!r}")
        if ("lag" in conditions) != (lag is not None):
            raise ValueError("when='lag' and lag=timedelta(...) go together: how far behind is too far?")
        template_of(message)  # refuses what is none
        self.pipeline = pipeline
        self.arroyo_conn_id = arroyo_conn_id
        self.deliver = deliver
        self.message = message
        self.when = conditions
        self.lag = to_optional_duration(lag, "lag")
        self.since = since

    def __call__(self, *args: Any) -> None:
        """Send the notification. Templates are rendered in a copy: one notifier serves many tasks, in one process
        too."""
        BaseNotifier.__call__(copy.copy(self), *args)

    def notify(self, context: Context) -> None:
        """Read the current state, and send the notification."""
        hook, names, since = self._what_to_ask(context)
        try:
            url = hook.get_conn().url
            reports = [hook.run(report_on(name, since, utc_now)) for name in names]
        except AirflowException as error:
            url, reports = None, [Report(name, unknown=str(error)) for name in names]
        self._tell_all(context, url, reports)

    async def async_notify(self, context: Context) -> None:
        """Send the notification in an event loop, as the callback of a deadline."""
        hook, names, since = self._what_to_ask(context)
        try:
            url = (await hook.aget_conn()).url
            reports = [await hook.arun(report_on(name, since, utc_now)) for name in names]
        except AirflowException as error:
            url, reports = None, [Report(name, unknown=str(error)) for name in names]
        await asyncio.to_thread(self._tell_all, context, url, reports)

    def _what_to_ask(self, context: Context) -> tuple[ArroyoHook, Sequence[str], datetime]:
        task = context.get("task")
        named = self.pipeline or getattr(task, "pipeline", None) or ()
        names = [named] if isinstance(named, str) else list(named)
        connection = self.arroyo_conn_id or getattr(task, "arroyo_conn_id", None) or ArroyoHook.default_conn_name
        pipelines = dict.fromkeys(name.partition("/")[0] for name in names)  # a sensor may name a sink behind a slash
        known = [instant for instant in (self.since, _last_success(context)) if instant is not None]
        return ArroyoHook(connection), list(pipelines), known[0] if known else utc_now() - LOOK_BACK

    def _tell_all(self, context: Context, url: str | None, reports: Sequence[Report]) -> None:
        """Send each notification; one that cannot be delivered does not delay the others."""
        failures: list[Exception] = []
        if not reports:
            reports = [Report("(none)", unknown="neither the notifier nor the task names a pipeline")]
        for report in reports:
            page = None if url is None else page_of(url, report.pipeline)
            failures += self._tell(context, replace(report, url=page))
        if failures:
            raise failures[0]

    def _tell(self, context: Context, report: Report) -> list[Exception]:
        """Send the notification if it is due; return the error if that fails."""
        if not self._is_told(report):
            self.log.info("There is nothing to tell: %s", report.headline)
            return []
        known: Any = {**context, "arroyo": report}
        message = str(self.render_template(template_of(self.message), known))
        known["arroyo_message"] = message
        failures: list[Exception] = []
        for delivery in _each(self.deliver) or [self._write_to_log]:
            try:
                if isinstance(delivery, BaseNotifier):
                    copy.copy(delivery)({**known})
                else:
                    delivery(message)
            except Exception as error:  # whatever another notifier raises
                self.log.exception("Not told by %s: %s", delivery, message)
                failures.append(error)
        return failures

    def _is_told(self, report: Report) -> bool:
        holds: dict[str, bool] = {
            "failed": report.has_failed,
            "lag": self.lag is not None and report.lag is not None and report.lag > self.lag,
            "state_lost": bool(report.losses),
        }
        return not self.when or report.unknown is not None or any(holds[condition] for condition in self.when)

    def _write_to_log(self, message: str) -> None:
        self.log.error("%s", message)


def _each(deliver: Delivery | Sequence[Delivery]) -> list[Delivery]:
    return list(deliver) if isinstance(deliver, list | tuple) else [deliver]  # type: ignore[list-item] # no other sequence


def _last_success(context: Context) -> datetime | None:
    """Return the start of the DAG's last successful run, which Airflow fetches on access."""
    before = context.get("prev_start_date_success")
    return before if isinstance(before, datetime) else None


MESSAGES = {
    "line": "{{ arroyo.headline }}{% if arroyo.url %} {{ arroyo.url }}{% endif %}",
    "text": """\
{{ arroyo.headline }}
{%- if arroyo.unknown %}
  why: {{ arroyo.unknown }}
{%- endif %}
{%- if arroyo.why %}
  cause: {{ arroyo.why }}
{%- endif %}
{%- if arroyo.hint %}
  what to do: {{ arroyo.hint }}
{%- endif %}
  progress: {{ arroyo.progress }}
  state: {{ arroyo.state_kept }}
{%- if arroyo.url %}
  page: {{ arroyo.url }}
{%- endif %}
{%- if ti is defined %}
  task: {{ ti.dag_id }}.{{ ti.task_id }} in {{ ti.run_id }}
{%- endif %}""",
    "markdown": """\
**{{ arroyo.headline }}**
{% if arroyo.unknown %}
- why: {{ arroyo.unknown }}
{%- endif %}
{%- if arroyo.why %}
- cause: {{ arroyo.why }}
{%- endif %}
{%- if arroyo.hint %}
- what to do: {{ arroyo.hint }}
{%- endif %}
- progress: {{ arroyo.progress }}
- state: {{ arroyo.state_kept }}
{%- if ti is defined %}
- task: `{{ ti.dag_id }}.{{ ti.task_id }}` in `{{ ti.run_id }}`
{%- endif %}
{%- if arroyo.url %}

[{{ arroyo.pipeline }}]({{ arroyo.url }})
{%- endif %}""",
    "html": """\
<p><b>{{ arroyo.headline | e }}</b></p><ul>
{%- if arroyo.unknown %}<li>why: {{ arroyo.unknown | e }}</li>{% endif %}
{%- if arroyo.why %}<li>cause: {{ arroyo.why | e }}</li>{% endif %}
{%- if arroyo.hint %}<li>what to do: {{ arroyo.hint | e }}</li>{% endif %}
<li>progress: {{ arroyo.progress | e }}</li><li>state: {{ arroyo.state_kept | e }}</li>
{%- if ti is defined %}<li>task: {{ ti.dag_id | e }}.{{ ti.task_id | e }} in {{ ti.run_id | e }}</li>{% endif %}</ul>
{%- if arroyo.url %}<p><a href="{{ arroyo.url | e }}">{{ arroyo.pipeline | e }}</a></p>{% endif %}""",
}


def template_of(message: str) -> str:
    """Return the message of that name, or the template itself; raise for a word that is neither."""
    if message in MESSAGES:
        return MESSAGES[message]
    if "{{" not in message and "{%" not in message:
        raise ValueError(f"message is {', '.join(MESSAGES)} or a template with {{{{ arroyo... }}}}, not {message!r}")
    return message
