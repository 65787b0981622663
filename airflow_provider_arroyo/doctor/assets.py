"""Find the assets in DAG files: what emits their events, with or without partition keys, and which DAGs they start.

    hours = Asset("hours")
    NextPartitionOperator(partitions=hours, ...)               emits events with keys for "hours"
    Asset("pulled", watchers=[...])                            emits events without keys for "pulled"
    BashOperator(outlets=[hours], ...)                         emits events with a key if its run has one
    DAG("batch", schedule=PartitionedAssetTimetable(...))      is started only by events with keys
    DAG("report", schedule=[hours])                            is started only by events without keys
    @asset(schedule=[hours]) def days(): ...                   likewise, and emits events for "days"

An asset is identified by its name or URI literal, in the file or in a module next to it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from airflow_provider_arroyo.doctor.files import Call, DagFile, Folder, Said, Task, calls_of, dags_of

HANDS_ON = frozenset({"NextPartitionOperator", "PushPartitionsOperator"})
"""Operators that emit an asset's events for time buckets."""


@dataclass(frozen=True, slots=True)
class Consumer:
    """A DAG that events of an asset start."""

    file: DagFile
    asset: str
    place: ast.expr
    """Location of its schedule."""
    schedule: Said
    """Value of the schedule, if it is defined elsewhere."""
    is_by_partitions: bool


@dataclass(slots=True)
class Producers:
    """Assets with known producers of events."""

    keyed: set[str] = field(default_factory=set)
    plain: set[str] = field(default_factory=set)
    either: set[str] = field(default_factory=set)
    """Outlets of ordinary tasks: their events have the key of the run, if it has one."""


def producers_of(folder: Folder) -> Producers:
    """Return the tasks that emit events of each asset."""
    found = Producers()
    for file in folder.files:
        for task in file.tasks:
            if task.kind in HANDS_ON and (name := asset_of(folder, file, task)) is not None:
                with_keys = file.value(task.argument("with_keys"))
                is_plain = isinstance(with_keys, ast.Constant) and with_keys.value is False
                (found.plain if is_plain else found.keyed).add(name)
        for call in calls_of(file, "Asset"):
            if "watchers" in call.keywords and (name := _name(folder, file, call.node)) is not None:
                found.plain.add(name)
        for function in file.functions.values():
            if (definition := _definition(function)) is not None:
                name = _name_of_function(file, function, definition)
                found.either.add(name)
                if "watchers" in _keywords(definition):
                    found.plain.add(name)
        for outlets in _outlets(file):
            found.either.update(_names(folder, file, outlets))
    return found


def consumers_of(folder: Folder) -> Iterator[Consumer]:
    """Yield the DAGs that are scheduled on assets."""
    for file in folder.files:
        for dag in dags_of(file):
            place = dag.keywords.get("schedule")
            schedule = folder.said(file, place)
            if place is None or schedule is None:
                continue
            is_by_partitions = _is_call(schedule.node, "PartitionedAssetTimetable")
            for name in _names_said(folder, schedule):
                yield Consumer(file, name, place, schedule, is_by_partitions)


def asset_of(folder: Folder, file: DagFile, task: Task) -> str | None:
    """Return the asset for which a task creates events."""
    return _name(folder, file, task.argument("partitions"))


def key_formats(schedule: Said) -> Iterator[tuple[ast.expr, str]]:
    """Yield the key formats of a schedule's mappers."""
    for node in ast.walk(schedule.node):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg == "input_format" and (text := schedule.file.text(keyword.value)) is not None:
                    yield keyword.value, text


def _outlets(file: DagFile) -> Iterator[ast.expr]:
    """Yield the outlets of calls and of `default_args`."""
    for node in ast.walk(file.tree):
        match node:
            case ast.keyword(arg="outlets", value=outlets):
                yield file.value(outlets) or outlets
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == "outlets":
                        yield file.value(value) or value


def _names(folder: Folder, file: DagFile, assets: ast.expr) -> Iterator[str]:
    said = folder.said(file, assets)
    return iter(()) if said is None else _names_said(folder, said)


def _names_said(folder: Folder, assets: Said) -> Iterator[str]:
    for node in ast.walk(assets.node):
        if isinstance(node, ast.Name | ast.Attribute | ast.Call):
            name = _name(folder, assets.file, node)
            if name is not None:
                yield name


def _name(folder: Folder, file: DagFile, node: ast.expr | None) -> str | None:
    """Return the name of an asset; None for anything else."""
    match folder.said(file, node):
        case Said(where, ast.Call() as call) if _is_call(call, "Asset"):
            given = _keywords(call)
            return where.text(call.args[0] if call.args else given.get("name") or given.get("uri"))
        case Said(where, ast.FunctionDef() | ast.AsyncFunctionDef() as function):
            definition = _definition(function)
            return None if definition is None else _name_of_function(where, function, definition)
    return None


def _definition(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.expr | None:
    """Return the decorator that makes an asset of a function."""
    for decorator in function.decorator_list:
        if _is_call(decorator, "asset"):
            return decorator
    return None


def _name_of_function(file: DagFile, function: ast.FunctionDef | ast.AsyncFunctionDef, definition: ast.expr) -> str:
    return file.text(_keywords(definition).get("name")) or function.name


def _keywords(call: ast.expr) -> dict[str, ast.expr]:
    keywords = call.keywords if isinstance(call, ast.Call) else []
    return {keyword.arg: keyword.value for keyword in keywords if keyword.arg is not None}


def _is_call(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)):
            return called == name
    return False


def consumer_name(file: DagFile, call: Call) -> str | None:
    """Return the name under which the control plane stores the progress of a task or a watcher; None for a template."""
    text = file.text(call.keywords.get("consumer"))
    return None if text is None or "{" in text else text
