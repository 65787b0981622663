"""The sinks that are put to the test: how each table is declared, and how a correct user reads what is there.

A new sink is one more line in `TARGETS`.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.json as pa_json
import pyarrow.parquet as pq
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from engine.connectors.base import Table
from engine.delivery.faults import Point
from engine.delivery.ownership import MARK as OWNER_MARK
from tests.chaos.broker import PARTITIONS, make_topic
from tests.chaos.events import SCHEMA, Numbers, numbers_of
from tests.chaos.servers import BUCKET, bucket_client, kafka, s3
from tests.connectors.tables import table


@dataclass(frozen=True, slots=True)
class Part:
    """Some rows that have become visible, in their order: the numbers of the events, and how many are not as they were
    made. Parts of one stream, in the order of their places, are the stream."""

    stream: str
    place: str
    numbers: Numbers
    wrong: int = 0


class View(Protocol):
    """What readers see of a target."""

    def new(self) -> Iterator[Part]:
        """What has become visible since it was last asked."""

    def leftovers(self) -> list[str]:
        """What should not lie about when nobody is at work any more."""


@dataclass(slots=True)
class Files:
    """Reads the files of a directory, each once; hidden ones are drafts. A file that has vanished is an error, since
    nothing here is ever restored."""

    folder: Path
    sizes: dict[Path, int] = field(default_factory=dict)

    def new(self) -> Iterator[Part]:
        names = {path for path in self.folder.rglob("*.*") if path.is_file() and not path.name.startswith(".")}
        vanished = self.sizes.keys() - names
        assert not vanished, f"{len(vanished)} files have vanished, such as {min(vanished)}"
        for path in sorted(names - self.sizes.keys()):
            self.sizes[path] = path.stat().st_size
            rows = pq.read_table(path) if path.suffix == ".parquet" else pa_json.read_json(path)
            yield Part(str(path.parent), path.name, *numbers_of(rows))

    def leftovers(self) -> list[str]:
        changed = [str(path) for path, size in self.sizes.items() if path.stat().st_size != size]
        return changed + [str(path) for path in self.folder.rglob(".*") if path.is_file() and path.name != OWNER_MARK]


@dataclass(slots=True)
class Versions:
    """Reads a Delta table by its log: what each version adds, in their order. None may take anything away."""

    folder: Path
    version: int = 0

    def new(self) -> Iterator[Part]:
        while (log := self.folder / "_delta_log" / f"{self.version:020d}.json").exists():
            for number, line in enumerate(log.read_text().splitlines()):
                action = json.loads(line)
                assert "remove" not in action, f"version {self.version} takes {action['remove']['path']} away"
                if "add" in action:
                    shard = action["add"]["partitionValues"]["shard"]
                    rows = pq.ParquetFile(self.folder / action["add"]["path"]).read()
                    rows = rows.append_column("shard", pa.repeat(int(shard), len(rows)))
                    yield Part(shard, f"{self.version:012d}-{number:04d}", *numbers_of(rows))
            self.version += 1

    def leftovers(self) -> list[str]:
        return []


@dataclass(slots=True)
class Objects:
    """Reads the objects of a bucket, each once."""

    address: str
    prefix: str
    read_names: set[str] = field(default_factory=set)

    def new(self) -> Iterator[Part]:
        client = bucket_client(self.address)
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{self.prefix}/")
        keys = {summary["Key"] for page in pages for summary in page.get("Contents", ())}
        names = {key for key in keys if key.rpartition("/")[2] != OWNER_MARK}
        vanished = self.read_names - names
        assert not vanished, f"{len(vanished)} objects have vanished, such as {min(vanished)}"
        for name in sorted(names - self.read_names):
            self.read_names.add(name)
            body = client.get_object(Bucket=BUCKET, Key=name)["Body"].read()
            folder, _, base = name.rpartition("/")
            yield Part(folder, base, *numbers_of(pa_json.read_json(io.BytesIO(body))))

    def leftovers(self) -> list[str]:
        uploads = bucket_client(self.address).list_multipart_uploads(Bucket=BUCKET, Prefix=f"{self.prefix}/")
        return [upload["Key"] for upload in uploads.get("Uploads", ())]


@dataclass(slots=True)
class Records:
    """Reads a topic from its beginning, as a consumer of committed records."""

    address: str
    topic: str
    places: dict[int, int] = field(default_factory=lambda: dict.fromkeys(range(PARTITIONS), 0))
    """The offset behind what was read, by partition."""

    def new(self) -> Iterator[Part]:
        consumer = Consumer(
            {
                "bootstrap.servers": self.address,
                "group.id": "reader",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "log_level": 0,
            }
        )
        consumer.assign([TopicPartition(self.topic, partition, offset) for partition, offset in self.places.items()])
        at_end = set[int]()
        while len(at_end) < PARTITIONS:
            batches: dict[int, list[Message]] = {}
            for message in consumer.consume(10_000, 0.1):
                partition, error = message.partition() or 0, message.error()
                if error is None:
                    at_end.discard(partition)
                    batches.setdefault(partition, []).append(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    at_end.add(partition)
            for partition, messages in batches.items():
                self.places[partition] = (messages[-1].offset() or 0) + 1
                lines = io.BytesIO(b"\n".join(message.value() or b"" for message in messages))
                yield Part(str(partition), f"{messages[0].offset():012d}", *numbers_of(pa_json.read_json(lines)))
        consumer.close()

    def leftovers(self) -> list[str]:
        return []


@dataclass(slots=True)
class OneFile:
    """Reads a file that grows, once. While a driver is at work it may have a tail that is cut off again."""

    path: Path

    def new(self) -> Iterator[Part]:
        if self.path.exists():
            yield Part("", "", *numbers_of(pa_json.read_json(self.path)))

    def leftovers(self) -> list[str]:
        return []


@dataclass(frozen=True, slots=True)
class Place:
    """Where a loop works: a directory of its own, and the address of the server, when there is one."""

    root: Path
    address: str = ""

    @property
    def name(self) -> str:
        """What is its own on a server that it shares."""
        return "chaos-" + hashlib.sha256(str(self.root).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of target: its table, its view, and the server that it needs."""

    table: Callable[[Place], Table]
    view: Callable[[Place], View]
    server: Callable[[Path], AbstractContextManager[str]] = lambda root: nullcontext("")
    prepare: Callable[[Place], None] = lambda place: None
    """Makes what has to be there before the first driver starts."""
    shows_only_committed: bool = True
    """Whether a reader who comes at any time sees nothing that is taken back."""
    shows_at_once: bool = True
    """Whether all of a committed epoch can be seen."""
    has_zombies: bool = True
    """Whether a driver that was replaced may still be alive. For a file that is appended to, nothing but the lock on
    the pipeline's state excludes that."""
    fences: bool = False
    """Whether the target itself refuses a run that has been replaced."""
    modules: tuple[str, ...] = ("engine.connectors.files.rolling_sink",)
    """What its drivers import."""
    lacks: frozenset[Point] = frozenset()
    """The fault points that it never comes to."""
    killed_in: tuple[str, ...] = ("0", "1", "3")
    """In which epochs a driver is killed at every fault point: the first, the second, a later one. With a server only
    in the second, as it costs more; `""` is whichever comes to the point, where not every epoch does."""


def _filesystem(form: str, **options: Any) -> Callable[[Place], Table]:
    with_clause: dict[str, Any] = {"type": "sink", "format": form, "partitioning__fields": ("shard",), **options}
    return lambda place: table("filesystem", SCHEMA, path=place.root / "out", **with_clause)


def _s3(place: Place) -> Table:
    keys: dict[str, Any] = {"storage__access_key_id": "me", "storage__secret_access_key": "mine"}
    path, by = f"s3::{place.address}/{BUCKET}/{place.name}", ("shard",)
    return table("filesystem", SCHEMA, path=path, type="sink", format="json", partitioning__fields=by, **keys)


def _delta(**options: Any) -> Callable[[Place], Table]:
    return lambda place: table("delta", SCHEMA, path=place.root / "out", partitioning__fields=("shard",), **options)


def _kafka(parallelism: int) -> Callable[[Place], Table]:
    def declare(place: Place) -> Table:
        with_clause: dict[str, Any] = {
            "bootstrap_servers": place.address,
            "topic": place.name,
            "sink__commit_mode": "exactly_once",
            "sink__key_field": "key",
            "sink__parallelism": parallelism,
        }
        return table("kafka", SCHEMA, type="sink", format="json", **with_clause)

    return declare


def _single_file(name: str) -> Callable[[Place], Table]:
    return lambda place: table("single_file", SCHEMA, path=place.root / name, type="sink", format="json")


_FENCES = frozenset({Point.BEFORE_FENCE, Point.AFTER_FENCE})
_FILES_LACK = _FENCES | {Point.WHILE_WRITING}

TARGETS: Mapping[str, Kind] = {
    "filesystem": Kind(_filesystem("json"), lambda place: Files(place.root / "out"), lacks=_FILES_LACK),
    "rolling": Kind(
        _filesystem("parquet", rolling_policy__file_size=40_000),
        lambda place: Files(place.root / "out"),
        shows_at_once=False,
        lacks=_FILES_LACK,
        killed_in=("",),
    ),
    "s3": Kind(
        _s3,
        lambda place: Objects(place.address, place.name),
        s3,
        modules=("engine.connectors.files.s3_target",),
        lacks=_FILES_LACK,
        killed_in=("1",),
    ),
    "delta": Kind(
        _delta(),
        lambda place: Versions(place.root / "out"),
        modules=("engine.connectors.delta.sink",),
        lacks=_FILES_LACK,
    ),
    "kafka": Kind(
        _kafka(1),
        lambda place: Records(place.address, place.name),
        kafka,
        lambda place: make_topic(place.address, place.name),
        shows_at_once=False,
        fences=True,
        modules=("engine.connectors.kafka.write.exactly_once",),
        killed_in=("1",),
    ),
    "kafka-parallel": Kind(
        _kafka(3),
        lambda place: Records(place.address, place.name),
        kafka,
        lambda place: make_topic(place.address, place.name),
        shows_at_once=False,
        fences=True,
        modules=("engine.connectors.kafka.write.exactly_once",),
        killed_in=("1",),
    ),
    "single_file": Kind(
        _single_file("out.json"),
        lambda place: OneFile(place.root / "out.json"),
        shows_only_committed=False,
        has_zombies=False,
        lacks=_FENCES | {Point.BEFORE_DECISION, Point.AFTER_DECISION, Point.WHILE_PUBLISHING},
    ),
}

_ROLLING_SOON: dict[str, Any] = {"rolling_policy__file_size": 500}

VARIANTS: Mapping[str, Kind] = {
    "gzip": replace(
        TARGETS["single_file"],
        table=_single_file("out.json.gz"),
        view=lambda place: OneFile(place.root / "out.json.gz"),
        killed_in=("0", "3"),
    ),
    "parquet": replace(TARGETS["filesystem"], table=_filesystem("parquet"), killed_in=("0", "3")),
    "rolling-json": replace(TARGETS["rolling"], table=_filesystem("json", **_ROLLING_SOON), killed_in=("0", "3")),
    "rolling-delta": replace(
        TARGETS["delta"], table=_delta(**_ROLLING_SOON), shows_at_once=False, killed_in=("0", "3")
    ),
}
"""The same sinks where they write otherwise; so small that every epoch fills a file and leaves another open."""
KINDS = {**TARGETS, **VARIANTS}
