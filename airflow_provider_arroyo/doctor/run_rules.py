"""Rules about DAG runs: data intervals that a schedule does not provide, and conflicts of concurrent runs.

schedule                               data interval           result
"@hourly", cron, timedelta             empty: start = end      a gate works, a range is empty
CronDataIntervalTimetable("@hourly")   an hour                 works
assets                                 none                    a gate on its end and a range fail
None, "@once"                          none or empty           likewise
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from airflow_provider_arroyo.doctor.files import DagFile, Task
from airflow_provider_arroyo.doctor.schedules import Runs, read_runs


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A mistake, its location, and its remedy."""

    file: str
    line: int
    code: str
    message: str
    hint: str


def finding_at(file: DagFile, node: ast.expr | ast.stmt, code: str, message: str, hint: str) -> Finding:
    """Return a finding at the line of this node."""
    return Finding(str(file.path), node.lineno, code, message, hint)


def as_text(findings: Sequence[Finding], files: Sequence[Path]) -> str:
    """Format the findings one after the other, and their number."""
    parts = [f"{it.file}:{it.line}: {it.code}: {it.message}\n  hint: {it.hint}" for it in findings]
    read = f"{len(files)} file{'' if len(files) == 1 else 's'} with tasks of this provider read"
    return "\n".join([*parts, f"{len(findings) or 'no'} finding{'' if len(findings) == 1 else 's'}, {read}"])


def as_json(findings: Sequence[Finding], files: Sequence[Path]) -> str:
    """Return the findings as JSON."""
    return json.dumps({"files": [str(path) for path in files], "findings": [asdict(it) for it in findings]}, indent=2)


_START, _END = (re.compile(rf"\{{\{{[^}}]*\bdata_interval_{edge}\b[^}}]*\}}\}}") for edge in ("start", "end"))
_BY_INSTANT: Runs = "instants"
_NONE = frozenset[Runs]({"none", "assets"})
_TIMETABLE = "CronDataIntervalTimetable('@hourly', timezone='UTC')"
_SAID: dict[Runs, str] = {
    "none": "a DAG without a schedule",
    "once": "a DAG with schedule='@once'",
    "assets": "a DAG that assets start",
    "instants": "a DAG with a plain cron or timedelta schedule",
}


def gates_without_interval(file: DagFile) -> Iterator[Finding]:
    """Report gates on the end of a data interval that fail in a run without one."""
    for task in file.tasks:
        runs = _runs(file, task)
        if waits_for_interval(file, task) and task.argument("past") is None and runs in _NONE:
            yield finding_at(
                file,
                task.call.node,
                "dag.gate_without_interval",
                f"{task.kind} waits for the end of the data interval, and {_SAID[runs]} has none",
                "Give it the instant: past=...",
            )


def empty_intervals(file: DagFile) -> Iterator[Finding]:
    """Report empty data intervals: since Airflow 3 those of a plain `schedule="@hourly"` begin and end at the same
    instant."""
    for task in file.tasks:
        runs = _runs(file, task)
        if runs is None or runs == "intervals" or task.is_mapped:
            continue
        if task.kind == "StreamBackfillOperator" and (why := _empty_range(file, task, runs)) is not None:
            advice = "Leave out start and end" if runs == _BY_INSTANT else "Give it start and end"
            yield finding_at(
                file,
                task.call.node,
                "dag.empty_interval",
                f"the range of {task.kind} {why}: {_SAID[runs]} has no data intervals of any length",
                f"{advice}, or the DAG a schedule with intervals: {_TIMETABLE}.",
            )
        script = file.text(task.argument("sql"))
        if script is not None and _START.search(script) and _END.search(script):
            yield finding_at(
                file,
                file.value(task.argument("sql")) or task.call.node,
                "dag.empty_interval",
                f"the script of {task.kind} reads from data_interval_start to data_interval_end, which are the same "
                f"instant in {_SAID[runs]}",
                f"Give the DAG a schedule with intervals: {_TIMETABLE}.",
            )


def stops_of_other_runs(file: DagFile) -> Iterator[Finding]:
    """Report teardowns that stop a pipeline for the other runs of its DAG, too."""
    for task in _teardowns(file):
        pipeline = file.text(task.argument("pipeline"))
        if task.dag is None or pipeline is None or "{" in pipeline:
            continue  # each run may have a pipeline of its own
        runs = file.value(task.dag.keywords.get("max_active_runs"))
        if not (isinstance(runs, ast.Constant) and runs.value == 1):
            yield finding_at(
                file,
                task.call.node,
                "dag.stop_in_teardown",
                f"the teardown {task.kind} stops {pipeline} while another run of the DAG may still use it",
                "Give the DAG max_active_runs=1, or each run a pipeline of its own: temporary_pipeline(...).",
            )


RUN_RULES: tuple[Callable[[DagFile], Iterator[Finding]], ...] = (
    gates_without_interval,
    empty_intervals,
    stops_of_other_runs,
)


def waits_for_interval(file: DagFile, task: Task) -> bool:
    """Whether a task waits until output is complete up to the end of its run's data interval."""
    if task.kind == "StreamingSqlOperator" and file.text(task.argument("wait_for")) != "complete":
        return False
    if task.kind not in ("StreamingSqlOperator", "WatermarkSensor") or task.is_mapped:
        return False
    past = task.argument("past")
    return past is None or bool(re.fullmatch(r"\{\{\s*data_interval_end\s*\}\}", file.text(past) or ""))


def _runs(file: DagFile, task: Task) -> Runs | None:
    return None if task.dag is None else read_runs(file, task.dag.keywords.get("schedule"))


def _empty_range(file: DagFile, task: Task, runs: Runs) -> str | None:
    """Return why the range of a backfill is empty, or is not known; None if it is not empty."""
    then_continue = file.value(task.argument("then_continue"))
    goes_on = isinstance(then_continue, ast.Constant) and bool(then_continue.value)
    start, end = task.argument("start"), task.argument("end")
    if start is not None and end is not None:
        is_interval = _START.fullmatch(file.text(start) or "") and _END.fullmatch(file.text(end) or "")
        return "is empty" if is_interval else None
    if runs == _BY_INSTANT:
        return None  # it takes the range from the run before
    has_start = start is not None or (task.argument("length") is not None and runs != "assets")
    has_end = end is not None or goes_on or (task.argument("length") is not None and runs != "assets")
    return None if has_start and has_end else "is not known"


def _teardowns(file: DagFile) -> Iterator[Task]:
    """Yield the tasks that stop a pipeline as a teardown."""
    names, calls = dict[str, list[ast.expr]](), set[ast.expr]()
    for node in ast.walk(file.tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                names.setdefault(name, []).append(value)
    for node in ast.walk(file.tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="as_teardown", value=ast.Name(id=name))):
                calls.update(names.get(name, ()))
            case ast.Call(func=ast.Attribute(attr="as_teardown", value=value)):
                calls.add(value)
    for task in file.tasks:
        if task.kind in ("StopStreamingJobOperator", "DeletePipelineOperator") and task.call.node in calls:
            yield task
