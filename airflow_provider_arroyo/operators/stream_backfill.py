"""Run a script over a range of history, once per data interval.

event time        01-01 00:00 ───────── 01-02 00:00 ───────── 01-03 00:00
run of 01-01      orders_20260101T000000Z_20260102T000000Z
run of 01-02                            orders_20260102T000000Z_20260103T000000Z
start, then_continue=True               orders ─── history ──────────────── new rows ───
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow_provider_arroyo.deployments import find
from airflow_provider_arroyo.durations import HINT, Interval, interval_of, to_instant, to_optional_duration
from airflow_provider_arroyo.errors import EmptyIntervalError, NoDataIntervalError, RangeDoneError
from airflow_provider_arroyo.operators.base import now
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator, WaitFor
from airflow_provider_arroyo.responses import JobState

if TYPE_CHECKING:
    from airflow.sdk import Context


class StreamBackfillOperator(StreamingSqlOperator):
    """Run a script over the rows of a range of event time, and end; or continue with new rows.

    A range that ends is a pipeline of its own, named after it: `orders_20260101T000000Z_20260102T000000Z`. Its rows are
    written once, even if the task is retried or cleared; a retry continues the work of an earlier try. Let the script
    write each range to a location of its own, such as `.../{{ ds_nodash }}`, or under a prefix of its own (`into`):
    another pipeline may not write there. A range that continues is the pipeline itself, which then runs like any other.

    A range that was read to its end is not read again under the same name, since its rows would be duplicated: the same
    script has nothing to do, another one is refused (`backfill.range_done`). To read it again, for example after its
    input was corrected, set a `revision`: that makes another pipeline, with its rows under a prefix of their own.

    :param pipeline: prefix of the pipelines' names, or the name of the pipeline that continues (templated).
    :param sql: the script, or the name of a `.sql` file next to the DAG (templated).
    :param start: the first instant of the range, as a datetime or in ISO form; by default the start of the run's data
        interval. If that is empty, as with a plain `schedule="@hourly"`, it is the instant of the previous run by the
        schedule (templated).
    :param end: the first instant after the range; by default the end of the data interval. A range that continues has
        none (templated).
    :param length: length of a range with only one end: a timedelta, seconds, or a text such as `1 hour`. It then ends
        `length` after `start`; without `start` it begins `length` before `end`, or before the end of the data interval,
        which a plain `schedule="@hourly"` has, too (templated).
    :param then_continue: continue with new rows after the history, at the very next offset.
    :param start_from: start positions of tables, by name, such as `{"orders": "timestamp:2026-01-01"}`; by default
        their first record (templated).
    :param partial_windows: accept windows that the range cuts through, with a part of their rows.
    :param into: the prefix under which the script writes, such as `{{ ds }}`: files go to a sibling folder of that
        name, records to topics and keys with that prefix; by default the targets of the script (templated).
    :param revision: reads a range again, such as `2` or `{{ params.revision }}`: the pipeline is `..._2`, and writes
        under this prefix, or under `into` followed by it; empty for the first (templated).
    :param wait_for: `finished` or `none`, and for a range that continues the values of `StreamingSqlOperator`; by
        default `finished`, or `running`.
    """

    template_fields: Sequence[str] = (
        *StreamingSqlOperator.template_fields,
        "start",
        "end",
        "length",
        "start_from",
        "into",
        "revision",
    )

    def __init__(
        self,
        *,
        pipeline: str,
        sql: str,
        start: datetime | str | None = None,
        end: datetime | str | None = None,
        length: timedelta | float | str | None = None,
        then_continue: bool = False,
        start_from: Mapping[str, str] | None = None,
        partial_windows: bool = False,
        into: str | None = None,
        revision: str | int | None = None,
        wait_for: WaitFor | None = None,
        **kwargs: Any,
    ) -> None:
        if then_continue and end is not None:
            raise ValueError("a range that goes on (then_continue) has no end")
        if then_continue and revision is not None:
            raise ValueError("a range that goes on (then_continue) has no revision")
        if start is not None and end is not None and length is not None:
            raise ValueError("give two of start, end and length, and not all three")
        goal: WaitFor = wait_for or ("running" if then_continue else "finished")
        super().__init__(pipeline=pipeline, sql=sql, wait_for=goal, into=into, **kwargs)
        self.start = start
        self.end = end
        self.length = length
        self.then_continue = then_continue
        self.start_from = start_from
        self.partial_windows = partial_windows
        self.revision = revision
        if revision is not None:  # it writes under a prefix
            self.outlets = [outlet for outlet in self.outlets if outlet not in self.declared.outlets]

    def execute(self, context: Context) -> dict[str, Any]:
        """Deploy the pipeline of the range, and wait as requested."""
        first, last = self._range(context)
        history = {"history_from": _spelled(first)}
        if self.then_continue:
            history["then_continue"] = "on"
        else:
            history["history_to"] = _spelled(last)
            self.pipeline = f"{self.pipeline}_{first:%Y%m%dT%H%M%SZ}_{last:%Y%m%dT%H%M%SZ}"
            self._revise()
        if self.partial_windows:
            history["partial_windows"] = "on"
        if self.start_from:
            history["start_from"] = "; ".join(f"{table}={where}" for table, where in self.start_from.items())
        self.settings = {**(self.settings or {}), **history}
        if not self.then_continue:
            self._refuse_another(history)
        return super().execute(context)

    def _range(self, context: Context) -> Interval:
        """Return the range in UTC: that of the task, else the run's interval or its schedule's last period."""
        start = None if self.start is None else to_instant(self.start, "start")
        end = None if self.end is None else to_instant(self.end, "end")
        length = to_optional_duration(self.length, "length")
        if length is not None and start is not None:
            end = start + length
        elif length is not None:
            end = end or self._end_of_interval(context)
            start = end - length
        if start is None or (end is None and not self.then_continue):
            edges = context.get("data_interval_start"), context.get("data_interval_end")
            if edges[0] is None or edges[1] is None:
                raise _no_interval(context, "start" if start is None else "end")
            dag = self.get_dag()
            interval = interval_of(edges[0], edges[1], None if dag is None else dag.timetable)
            start, end = start or interval.start, end or interval.end
        end = end or start
        if end <= start and not self.then_continue:
            raise EmptyIntervalError(
                f"the range is empty: it begins at {start.isoformat()} and ends at {end.isoformat()}", hint=HINT
            )
        return Interval(start.astimezone(UTC), end.astimezone(UTC))

    def _end_of_interval(self, context: Context) -> datetime:
        end = context.get("data_interval_end")
        if end is None:
            raise _no_interval(context, "end")
        return end

    def _revise(self) -> None:
        """Deploy a revision as another pipeline, which writes elsewhere."""
        revision = "" if self.revision is None else str(self.revision).strip()
        if revision not in ("", "None"):
            self.pipeline = f"{self.pipeline}_{revision}"
            self.into = f"{self.into}-{revision}" if self.into else revision

    def _refuse_another(self, history: Mapping[str, str]) -> None:
        """Refuse a script that would return other rows for a range that is completely read. It would have nothing to
        read, and the task would succeed with the rows of the previous script."""
        done = self.hold(find(self.pipeline, now))
        if done is None or done.state is not JobState.FINISHED:
            return
        told = f"range {self.pipeline} was read to its end"
        if any(done.settings.get(name, value) != value for name, value in history.items()):
            raise RangeDoneError(f"{told} with other settings of where it begins and what it reads")
        if done.query is not None and done.query != self.script:
            plan = self._plan()
            changes = {verdict.get("change") for verdict in plan.plan.get("verdicts", ())}
            if plan.is_refused or changes - {"SAME", "STATE_KEPT"}:
                raise RangeDoneError(f"{told} by another script, whose rows stay")


def _no_interval(context: Context, missing: str) -> NoDataIntervalError:
    task = context["ti"]
    return NoDataIntervalError(
        f"run {task.run_id!r} of DAG {task.dag_id!r} has no data interval, so there is no range to read",
        hint=f"Give StreamBackfillOperator the instant: {missing}=...",
    )


def _spelled(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")
