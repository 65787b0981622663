"""Requests of a Kafka source's planner to the brokers: partitions, and their first and last offsets."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Event
from typing import Any, TypeVar

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec, TopicDescription

from engine.connectors.kafka.client import client_config, errors_explained
from engine.connectors.kafka.read.options import KafkaSourceOptions
from engine.connectors.kafka.read.positions import partition_name, split_name
from engine.errors import SourceUnavailableError

K = TypeVar("K")
V = TypeVar("V")

_PAUSE = 0.1
_SAMPLE, _SAMPLE_SECONDS, _USUAL_SIZE = 100, 0.2, 1000.0
_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""Topic id that brokers return for a topic without an id."""
_MISSING = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001 - the client's name for it
        KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001 - as above
        KafkaError._NOENT,  # noqa: SLF001 - as above, when there is not one partition of those asked for
    }
)
_SOON = frozenset(
    {
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.REPLICA_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError._TRANSPORT,  # noqa: SLF001 - as above, when a broker went down with the question
    }
)
_OUTDATED = frozenset({KafkaError.FENCED_LEADER_EPOCH, KafkaError.UNKNOWN_LEADER_EPOCH})
"""Errors that brokers return to a client with outdated metadata. The client repeats the request with the same metadata
for as long as it caches them, which is minutes."""


@dataclass(slots=True)
class Brokers:
    """Sends requests about one table's topics. Each method sends one request, whatever the number of partitions."""

    options: KafkaSourceOptions
    group: str
    _admin: AdminClient | None = None
    _consumer: Consumer | None = None
    _client_errors: list[KafkaError] = field(default_factory=list)

    @property
    def patience(self) -> float:
        """Return how many seconds a broker may fail to answer: restarts and elections of leaders are no failure."""
        return self.options.broker_timeout.total_seconds()

    def topics(self) -> dict[str, tuple[int, str | None]]:
        """Return the number of partitions and the id of each topic of the table that exists."""
        names = self.options.topics or self._matching()
        if not names:
            return {}
        collection = TopicCollection(list(names))
        topics = self._answers(lambda seconds: self._client().describe_topics(collection, request_timeout=seconds))
        return {name: (len(topic.partitions), _known_id(topic)) for name, topic in topics.items()}

    def ends(self, partitions: Collection[str], *, all_of_them: bool = False) -> dict[str, int]:
        """Return the end of each partition, for a reader of committed records before the first open transaction. A
        partition that does not exist, or has no leader, is left out, or with `all_of_them` awaited."""
        return self._offsets(partitions, all_of_them, OffsetSpec.latest())  # type: ignore[no-untyped-call]  # so it is there

    def starts(self, partitions: Collection[str], *, all_of_them: bool = False) -> dict[str, int]:
        """Return the first offset that each partition still has; missing partitions are handled like in `ends`."""
        return self._offsets(partitions, all_of_them, OffsetSpec.earliest())  # type: ignore[no-untyped-call]  # as above

    def starts_at(self, partitions: Collection[str], millis: int) -> dict[str, int]:
        """Return the first offset of each partition whose record is not older, or the end of the partition. All
        partitions must exist."""
        spec = OffsetSpec.for_timestamp(millis)
        offsets = self._offsets(partitions, True, spec)
        young = {name: offset for name, offset in offsets.items() if offset >= 0}
        return {**self.ends([name for name in offsets if name not in young], all_of_them=True), **young}

    def committed(self, partitions: Collection[str]) -> dict[str, int]:
        """Return the committed offsets of the consumer group; partitions without a commit are left out."""
        if not partitions:
            return {}
        targets = [TopicPartition(*split_name(name)) for name in partitions]
        commits = self._ask(lambda seconds: self._watcher().committed(targets, seconds))
        return {
            partition_name(commit.topic, commit.partition): commit.offset for commit in commits if commit.offset >= 0
        }

    def commit(self, offsets: Mapping[str, int]) -> None:
        """Commit to the consumer group, for monitoring; nothing waits for the commit, and a failure has no effect."""
        commits = [TopicPartition(*split_name(name), offset) for name, offset in offsets.items()]
        if commits:
            self._watcher().commit(offsets=commits, asynchronous=True)
            self._watcher().poll(0)

    def record_size(self, at: Mapping[str, int]) -> float:
        """Estimate the bytes of a record from some records at these offsets."""
        with errors_explained(self.options, SourceUnavailableError):
            self._watcher().assign([TopicPartition(*split_name(name), offset) for name, offset in at.items()])
            sample = self._watcher().consume(_SAMPLE * len(at), _SAMPLE_SECONDS)
            self._watcher().unassign()
        sizes = [len(record.value() or b"") + len(record.key() or b"") for record in sample if record.error() is None]
        return max(1.0, sum(sizes) / len(sizes)) if sizes else _USUAL_SIZE

    def _matching(self) -> list[str]:
        pattern = re.compile(self.options.topic_pattern or "")
        topics = self._ask(lambda seconds: self._client().list_topics(timeout=seconds)).topics
        return sorted(name for name in topics if pattern.fullmatch(name) and not name.startswith("__"))

    def _offsets(self, partitions: Collection[str], all_of_them: bool, spec: OffsetSpec) -> dict[str, int]:
        isolation = IsolationLevel.READ_COMMITTED if self.options.is_committed else IsolationLevel.READ_UNCOMMITTED
        specs = {TopicPartition(*split_name(name)): spec for name in partitions}
        if not specs:
            return {}
        offsets = self._answers(
            lambda seconds: self._client().list_offsets(specs, isolation_level=isolation, request_timeout=seconds),
            _SOON | _MISSING if all_of_them else _SOON,
        )
        return {partition_name(at.topic, at.partition): info.offset for at, info in offsets.items()}

    def _answers(self, request: Callable[[float], Mapping[K, Future[V]]], soon: frozenset[int] = _SOON) -> dict[K, V]:
        """Return the answers by what was requested, without those about missing objects."""

        def answers(seconds: float) -> dict[K, V]:
            results: dict[K, V] = {}
            for subject, future in request(seconds).items():
                try:
                    results[subject] = future.result()
                except KafkaException as wrong:
                    if wrong.args[0].code() not in _MISSING - soon:
                        raise
            return results

        return self._ask(answers, soon)

    def _ask(self, request: Callable[[float], V], soon: frozenset[int] = _SOON) -> V:
        """Return the answer to a request, which gets the seconds that are left. It is repeated while the error is one
        of `soon`: a broker that shuts down, or elects a leader, fails its current requests."""
        deadline = time.monotonic() + self.patience
        with errors_explained(self.options, SourceUnavailableError, self._client_errors):
            while True:
                try:
                    return request(max(_PAUSE, deadline - time.monotonic()))
                except KafkaException as wrong:
                    if wrong.args[0].code() not in soon or time.monotonic() > deadline:
                        self._client().poll(0)  # so that it says what is behind it
                        raise
                    if wrong.args[0].code() in _OUTDATED:
                        self._admin = None
                Event().wait(_PAUSE)

    def _client(self) -> AdminClient:
        if self._admin is None:
            with errors_explained(self.options, SourceUnavailableError):
                config: dict[str, Any] = {**client_config(self.options), "error_cb": self._client_errors.append}
                self._admin = AdminClient(config)
        return self._admin

    def _watcher(self) -> Consumer:
        if self._consumer is None:
            config = client_config(
                self.options,
                group_id=self.group,
                isolation_level=self.options.read_mode,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
            )
            with errors_explained(self.options, SourceUnavailableError):
                self._consumer = Consumer({**config, "error_cb": self._client_errors.append})
        return self._consumer


def _known_id(topic: TopicDescription) -> str | None:
    text = None if topic.topic_id is None else str(topic.topic_id)
    return None if text == _NO_ID else text
