"""Rules about several files of a folder: which DAGs an asset starts, and which never start. One function per rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from airflow_provider_arroyo.doctor.assets import (
    HANDS_ON,
    asset_of,
    consumer_name,
    consumers_of,
    key_formats,
    producers_of,
)
from airflow_provider_arroyo.doctor.findings import Finding, finding_at
from airflow_provider_arroyo.doctor.modules import Folder

KEYS = "%Y-%m-%dT%H:%M:%S"
"""Format of the keys of time buckets."""


def dags_without_partitions(folder: Folder) -> Iterator[Finding]:
    """Airflow gives an event with a partition key to DAGs by partitions only."""
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
    """A watcher's event has no partition key in Airflow 3.3, and starts no DAG by partitions."""
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
    """A mapper that reads keys in another form than they are written finds none that fits, and starts nothing."""
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
    """Two that share a consumer get a part of its buckets each."""
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
