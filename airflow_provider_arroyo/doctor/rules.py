"""Rules about a single file, one function per rule. Each yields its findings, and assumes nothing that is not in the
file.

Rules about several files of a folder: which DAGs an asset starts, and which never start. One function per rule.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

from airflow_provider_arroyo.doctor.assets import (
    HANDS_ON,
    asset_of,
    consumer_name,
    consumers_of,
    key_formats,
    producers_of,
)
from airflow_provider_arroyo.doctor.files import DagFile, Folder, Task
from airflow_provider_arroyo.doctor.run_rules import Finding, finding_at, waits_for_interval
from airflow_provider_arroyo.doctor.schedules import read_length, read_schedule, window_lengths

LONG = timedelta(hours=1)
"""Duration from which on a sensor should not occupy a worker slot."""
INSTANTS = ("past", "start", "end", "until")
SCRIPTS = ("sql", "query")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_LOOPS = (ast.While, ast.For, ast.AsyncFor)
_CONFIDENTIAL = r"(?:password|passwd|secret|token|api_?key|access_?key|private_?key)"
_SECRET_OPTION = re.compile(
    rf"(?:^|[,(])\s*'?[\w.]*{_CONFIDENTIAL}[\w.]*'?\s*=\s*'(?!\$\{{secret:|\{{)([^']+)'", re.IGNORECASE | re.MULTILINE
)
_SECRET_TEMPLATE = re.compile(
    rf"\{{\{{[^}}]*(?:conn\.\w+\.(?:password|extra\w*)|var\.(?:value|json)\.\w*{_CONFIDENTIAL}\w*)[^}}]*\}}\}}",
    re.IGNORECASE,
)


def naive_instants(file: DagFile) -> Iterator[Finding]:
    """Report instants without a zone, which are taken as UTC, whatever the zone of the DAG is."""
    for task in file.tasks:
        for name in INSTANTS:
            node = file.value(task.argument(name))
            if node is not None and _is_naive(node):
                yield finding_at(
                    file,
                    node,
                    "dag.naive_instant",
                    f"{name} of {task.kind} has no zone and is taken as UTC",
                    "Write the zone: datetime(..., tzinfo=UTC), or '2026-01-31T05:00:00Z'.",
                )


def gates_within_windows(file: DagFile) -> Iterator[Finding]:
    """Report gates on the end of a data interval while a window is open, about which they say nothing."""
    scripts = {file.text(task.argument("pipeline")): _script(file, task) for task in file.tasks if task.argument("sql")}
    for task in file.tasks:
        if not waits_for_interval(file, task) or task.dag is None:
            continue
        schedule = task.dag.keywords.get("schedule")
        ends, script = read_schedule(file, schedule), scripts.get(file.text(task.argument("pipeline")))
        lengths = [] if ends is None or script is None else [*window_lengths(script[0])]
        for length in sorted({length for length in lengths if ends is not None and ends.cut(length)}):
            yield finding_at(
                file,
                task.call.node,
                "dag.gate_within_window",
                f"{task.kind} waits for the end of the data interval, which may lie within a window of {length}",
                "Let the schedule end intervals where windows end, or give past= such an instant.",
            )


def long_waits(file: DagFile) -> Iterator[Finding]:
    """Report waits that are not deferred, and so occupy a worker's slot all the time."""
    for task in file.tasks:
        is_sensor = task.kind.endswith("Sensor")
        mode, deferrable = file.value(task.argument("mode")), file.value(task.argument("deferrable"))
        holds = _is(deferrable, False) or (is_sensor and _is(mode, "poke") and not _is(deferrable, True))
        limit = read_length(file, task.argument("timeout" if is_sensor else "wait_timeout"))
        is_endless = is_sensor and task.argument("timeout") is None
        is_long = is_endless or (limit is not None and limit >= LONG)
        if holds and is_long and not (is_sensor and _is(mode, "reschedule")):
            for_how_long = "for seven days" if is_endless else f"for {limit}"
            yield finding_at(
                file,
                task.call.node,
                "dag.held_worker",
                f"{task.kind} may hold the slot of a worker {for_how_long}",
                "Write deferrable=True: then it waits in the triggerer.",
            )


def backfills_without_pool(file: DagFile) -> Iterator[Finding]:
    """Report backfills without a pool, which may start many Spark drivers at once."""
    for task in file.tasks:
        if task.kind != "StreamBackfillOperator" or task.argument("pool") is not None:
            continue
        runs = None if task.dag is None else file.value(task.dag.keywords.get("max_active_runs"))
        has_schedule = task.dag is not None and not _is(file.value(task.dag.keywords.get("schedule")), None)
        has_schedule = has_schedule and task.dag is not None and "schedule" in task.dag.keywords
        if task.is_mapped or (has_schedule and not _is(runs, 1)):
            yield finding_at(
                file,
                task.call.node,
                "dag.backfill_without_pool",
                "as many backfills may run at once as there are runs or mapped tasks, each with a Spark driver",
                "Give it a pool with as many slots as the machine has room for: pool='backfills'.",
            )


def shown_secrets(file: DagFile) -> Iterator[Finding]:
    """Report secrets in templated fields, which Airflow shows and stores, or in a script, which the control plane
    stores."""
    for task in file.tasks:
        script = _script(file, task)
        texts = [] if script is None else [script]
        settings = file.value(task.argument("settings"))
        values = settings.values if isinstance(settings, ast.Dict) else []
        texts += [(text, file.path, value.lineno) for value in values if (text := file.text(value)) is not None]
        for text, path, line in texts:
            for pattern, what in ((_SECRET_OPTION, "is written out"), (_SECRET_TEMPLATE, "is rendered")):
                for match in pattern.finditer(text):
                    at = line + text.count("\n", 0, match.end())
                    yield Finding(
                        str(path),
                        at,
                        "dag.shown_secret",
                        f"a secret {what} in a field of {task.kind} that is kept and shown",
                        "Write ${secret:NAME} in the script, and secrets={'NAME': 'conn:ID.password'} in the task.",
                    )


def stops_by_eviction(file: DagFile) -> Iterator[Finding]:
    """Report tasks that stop their pipeline when their worker is drained or replaced, which looks the same as a user's
    stop."""
    for task in file.tasks:
        choice = file.text(task.argument("on_kill"))
        deferrable = file.value(task.argument("deferrable"))
        waits_on_worker = deferrable is None or _is(deferrable, False)
        if choice in ("stop", "savepoint_and_stop") and waits_on_worker:
            yield finding_at(
                file,
                task.call.node,
                "dag.stopped_by_eviction",
                f"{task.kind} waits on a worker, and stops the pipeline when that goes away, and not only for a user",
                "Write deferrable=True: in the triggerer only a user's will counts.",
            )


def returning_triggers(file: DagFile) -> Iterator[Finding]:
    """Report triggers of watchers that end: Airflow restarts them every two seconds, for ever."""
    for node in ast.walk(file.tree):
        if not isinstance(node, ast.ClassDef) or not any(_is_named(base, "BaseEventTrigger") for base in node.bases):
            continue
        for run in node.body:
            if isinstance(run, ast.AsyncFunctionDef) and run.name == "run" and not _goes_on(run):
                yield finding_at(
                    file,
                    run,
                    "dag.returning_trigger",
                    f"run of {node.name} ends at once, and Airflow restarts it every two seconds",
                    "Let it loop for ever (while True), with a pause after a failure.",
                )


RULES: tuple[Callable[[DagFile], Iterator[Finding]], ...] = (
    naive_instants,
    gates_within_windows,
    long_waits,
    backfills_without_pool,
    shown_secrets,
    stops_by_eviction,
    returning_triggers,
)


def _is_naive(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str() as text):
            try:
                return len(text) > len("2026-01-31") and datetime.fromisoformat(text.strip()).tzinfo is None
            except ValueError:
                return False  # a template, or what the task itself refuses
        case ast.Call(func=ast.Name(id="datetime") | ast.Attribute(attr="datetime"), args=args, keywords=keywords):
            return len(args) < 8 and all(keyword.arg not in ("tzinfo", "tz", None) for keyword in keywords)
        case ast.Call(func=ast.Attribute(attr="utcnow")):
            return True
        case ast.Call(func=ast.Attribute(attr="now", value=ast.Name(id="datetime")), args=[], keywords=[]):
            return True
    return False


def _is_named(node: ast.expr, name: str) -> bool:
    match node:
        case ast.Name(id=found) | ast.Attribute(attr=found):
            return found == name
    return False


def _goes_on(run: ast.AsyncFunctionDef) -> bool:
    """Whether an endless loop keeps the function running, which only an error or its own condition ends."""
    nodes = [*_within(run, _SCOPES)]
    loops = [node for node in nodes if isinstance(node, ast.While | ast.AsyncFor)]
    returns = any(isinstance(node, ast.Return) for node in nodes)
    breaks = [any(isinstance(node, ast.Break) for node in _within(loop, (*_SCOPES, *_LOOPS))) for loop in loops]
    return not returns and not all(breaks)


def _within(node: ast.AST, apart: tuple[type[ast.AST], ...]) -> Iterator[ast.AST]:
    """Yield the descendants of a node, except those inside nodes of these kinds."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, apart):
            yield from _within(child, apart)


def _script(file: DagFile, task: Task) -> tuple[str, Path, int] | None:
    """Return the script of a task, its file, and the line at which it begins there."""
    for name in SCRIPTS:
        node = file.value(task.argument(name))
        text = file.text(node)
        if node is None or text is None:
            continue
        if not text.endswith(".sql") or "\n" in text:
            return text, file.path, node.lineno
        path = file.path.parent / text
        try:
            return path.read_text(), path, 1
        except OSError:
            return None  # it lies in a folder that only the DAG knows
    return None


def _is(node: ast.expr | None, value: object) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is type(value) and node.value == value


KEYS = "%Y-%m-%dT%H:%M:%S"
"""Format of the keys of time buckets."""


def dags_without_partitions(folder: Folder) -> Iterator[Finding]:
    """Report DAGs that get events with a partition key without being scheduled by partitions."""
    producers = producers_of(folder)
    for consumer in consumers_of(folder):
        if not consumer.is_by_partitions and consumer.asset in producers.keyed - producers.plain - producers.either:
            yield finding_at(
                consumer.file,
                consumer.place,
                "dag.never_started",
                f"the events of asset {consumer.asset!r} have partition keys, and none of them starts this DAG",
                "Write schedule=PartitionedAssetTimetable(assets=...), or let a watcher make the events.",
            )


def partitions_without_keys(folder: Folder) -> Iterator[Finding]:
    """Report DAGs scheduled by partitions on a watcher's events, which have no partition key in Airflow 3.3."""
    producers = producers_of(folder)
    for consumer in consumers_of(folder):
        if consumer.is_by_partitions and consumer.asset in producers.plain - producers.keyed - producers.either:
            yield finding_at(
                consumer.file,
                consumer.place,
                "dag.never_started",
                f"the events of asset {consumer.asset!r} have no partition keys, and none of them starts this DAG",
                "Hand the buckets on with NextPartitionOperator, or push them with keys; or write schedule=[...].",
            )


def other_key_formats(folder: Folder) -> Iterator[Finding]:
    """Report mappers that read keys in another form than they are written, and so never start a run."""
    keyed = producers_of(folder).keyed
    for consumer in consumers_of(folder):
        if consumer.is_by_partitions and consumer.asset in keyed:
            for node, form in key_formats(consumer.schedule):
                if form != KEYS:
                    yield finding_at(
                        consumer.schedule.file,
                        node,
                        "dag.partition_key_format",
                        f"keys of asset {consumer.asset!r} are written as {KEYS}, and read as {form}",
                        f"Leave input_format out, or write {KEYS!r}.",
                    )


def shared_consumers(folder: Folder) -> Iterator[Finding]:
    """Report tasks that share a consumer, so that each gets only a part of its time buckets."""
    first: dict[str, str] = {}
    for file in folder.files:
        for task in file.tasks:
            name, asset = consumer_name(file, task.call), asset_of(folder, file, task)
            if task.kind not in HANDS_ON or name is None or asset is None:
                continue
            if first.setdefault(name, asset) != asset:
                yield finding_at(
                    file,
                    task.call.node,
                    "dag.shared_consumer",
                    f"consumer {name!r} is of asset {first[name]!r} and of {asset!r}: a bucket goes to one of them",
                    "Give each asset a consumer of its own.",
                )


FOLDER_RULES: tuple[Callable[[Folder], Iterator[Finding]], ...] = (
    dags_without_partitions,
    partitions_without_keys,
    other_key_formats,
    shared_consumers,
)
