"""A Kafka cluster of our own: real brokers on this machine, which can be killed and started again."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic, OffsetSpec, ResourceType

from tests.kafka.certificates import authority
from tests.kafka.jars import BROKER, jars, java
from tests.ports import free_ports

USER, PASSWORD = "reader", "reader's secret"
SECONDS = 120.0

_CLUSTER = "q1Sh-9_ISia_zwGINzRvyQ"
_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_PROTOCOLS = {
    "PLAINTEXT": "PLAINTEXT",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SSL": "SSL",
    "SASL_SSL": "SASL_SSL",
    "PROXIED": "PLAINTEXT",
    "CONTROLLER": "PLAINTEXT",
}
_TOKENS = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_names = itertools.count()


@dataclass(slots=True)
class Node:
    """One broker, which is its own controller too. Its ports and its data stay when it is killed."""

    number: int
    folder: Path
    port: int
    sasl_port: int
    controller_port: int
    inner_port: int
    proxied_port: int
    ssl_port: int
    sasl_ssl_port: int
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it over the data it has; it does not answer yet."""
        assert self.process is None
        command = [java(), *_JVM, "-cp", f"{jars(BROKER)}/*", "kafka.Kafka", str(self.folder / "server.properties")]
        with (self.folder / "broker.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=self.folder)

    def kill(self) -> None:
        """End it at once, as `kill -9` does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def stop(self) -> None:
        """Ask it to end, and wait until it has."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(SECONDS)
            self.process = None

    def log(self) -> str:
        """The end of what it has said."""
        return (self.folder / "broker.log").read_text(errors="replace")[-4000:]


@dataclass(slots=True)
class Broker:
    """A cluster of one or three nodes, and what tests do with it."""

    nodes: Sequence[Node]
    admin: AdminClient = field(init=False)

    def __post_init__(self) -> None:
        self.admin = AdminClient(self.client_options())

    @property
    def address(self) -> str:
        """What clients give as `bootstrap_servers`."""
        return ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    @property
    def sasl_address(self) -> str:
        """The listener that wants `USER` and `PASSWORD`, by SASL/PLAIN."""
        return ",".join(f"127.0.0.1:{node.sasl_port}" for node in self.nodes)

    @property
    def ssl_address(self) -> str:
        """The listener that speaks TLS, and wants a certificate of `authority("ours")`."""
        return ",".join(f"127.0.0.1:{node.ssl_port}" for node in self.nodes)

    @property
    def sasl_ssl_address(self) -> str:
        """The listener that speaks TLS, and wants `USER` and `PASSWORD`."""
        return ",".join(f"127.0.0.1:{node.sasl_ssl_port}" for node in self.nodes)

    @property
    def proxied_address(self) -> str:
        """The listener whose clients are told to come back to a port where nobody listens until a test does."""
        return ",".join(f"127.0.0.1:{node.proxied_port}" for node in self.nodes)

    def client_options(self, **more: object) -> dict[str, Any]:
        """Options of a client that finds a restarted broker soon; underscores stand for dots."""
        options = {name.replace("_", "."): value for name, value in more.items()}
        quick = {"reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 250, "topic.metadata.refresh.interval.ms": 500}
        return {"bootstrap.servers": self.address, "log_level": 0, **quick, **options}

    def wait(self) -> None:
        """Until all nodes that run have joined."""
        running = [node for node in self.nodes if node.process is not None]

        def all_are_up() -> bool:
            for node in running:
                assert node.process is not None
                assert node.process.poll() is None, node.log()
            try:
                return len(self.admin.list_topics(timeout=1).brokers) >= len(running)
            except KafkaException:
                return False

        self.until(all_are_up)

    def restart(self) -> None:
        """Start every node that does not run, and wait until it answers."""
        for node in self.nodes:
            if node.process is None:
                node.start()
        self.wait()

    def kill(self) -> None:
        """`kill -9` for all nodes."""
        for node in self.nodes:
            node.kill()

    def create_topic(self, name: str | None = None, partitions: int = 1, **config: object) -> str:
        """A topic that exists when this returns, with a name of its own unless one is given."""
        name = name or f"topic-{os.getpid()}-{next(_names):04}"  # sorted as they were made
        settings = {key.replace("_", "."): str(value) for key, value in config.items()}
        new = NewTopic(name, partitions, min(3, len(self.nodes)), config=settings)
        self.admin.create_topics([new], operation_timeout=SECONDS)[name].result(SECONDS)
        self.until(lambda: self._partitions(name) == partitions)
        return name

    def delete_topic(self, name: str) -> None:
        """Take a topic away, and wait until nobody sees it any more."""
        self.admin.delete_topics([name], operation_timeout=SECONDS)[name].result(SECONDS)
        self.until(lambda: self._partitions(name) == 0)

    def add_partitions(self, topic: str, total: int) -> None:
        """Let a topic have `total` partitions."""
        self.admin.create_partitions([NewPartitions(topic, total)])[topic].result(SECONDS)
        self.until(lambda: self._partitions(topic) == total)

    def configure(self, topic: str, **config: object) -> None:
        """Set options of a topic."""
        settings = {key.replace("_", "."): str(value) for key, value in config.items()}
        resource = ConfigResource(ResourceType.TOPIC, topic, set_config=settings)
        for future in self.admin.alter_configs([resource]).values():
            future.result(SECONDS)

    def delete_records(self, topic: str, before: int, partition: int = 0) -> None:
        """Forget the records before an offset, as retention does."""
        where = TopicPartition(topic, partition, before)
        for future in self.admin.delete_records([where]).values():
            future.result(SECONDS)

    def produce(self, topic: str, *values: bytes | str | None, partition: int = 0, **more: Any) -> None:
        """Write records, and wait until they are safe. `more` is `key`, `timestamp` and `headers`."""
        producer = Producer(self.client_options(linger_ms=0))
        for value in values:
            producer.produce(topic, value, partition=partition, on_delivery=_delivered, **more)
            producer.poll(0)
        assert producer.flush(SECONDS) == 0

    @contextmanager
    def transaction(self, topic: str, *values: bytes | str, partition: int = 0, abort: bool = False) -> Iterator[None]:
        """Records in a transaction that ends with the block."""
        producer = Producer(self.client_options(transactional_id=f"test-{os.getpid()}-{next(_names)}"))
        producer.init_transactions(SECONDS)
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value, partition=partition)
        producer.flush(SECONDS)
        yield
        producer.abort_transaction(SECONDS) if abort else producer.commit_transaction(SECONDS)

    def read(self, topic: str, isolation: str = "read_committed") -> list[Message]:
        """All records that a reader sees now, partition by partition."""
        options = self.client_options(
            group_id="tests",
            enable_auto_commit=False,
            enable_partition_eof=True,
            isolation_level=isolation,
            auto_offset_reset="earliest",
        )
        messages = []
        with closing(Consumer(options)) as consumer:
            for number in range(self._partitions(topic)):
                consumer.assign([TopicPartition(topic, number, 0)])
                while True:
                    message = consumer.poll(SECONDS)
                    assert message is not None, "the broker gives neither a record nor the end"
                    error = message.error()
                    if error is not None:
                        assert error.code() == KafkaError._PARTITION_EOF, error
                        break
                    messages.append(message)
        return messages

    def commit(self, group: str, topic: str, offset: int, partition: int = 0) -> None:
        """Let a consumer group be at an offset."""
        with closing(Consumer(self.client_options(group_id=group, enable_auto_commit=False))) as consumer:
            consumer.commit(offsets=[TopicPartition(topic, partition, offset)], asynchronous=False)

    def delete_group(self, group: str) -> None:
        """Take a consumer group away."""
        self.admin.delete_consumer_groups([group])[group].result(SECONDS)

    def committed(self, group: str, topic: str, partition: int = 0) -> int:
        """Where a consumer group is."""
        with closing(Consumer(self.client_options(group_id=group, enable_auto_commit=False))) as consumer:
            (position,) = consumer.committed([TopicPartition(topic, partition)], SECONDS)
            return int(position.offset)

    def ends(self, topic: str, *, committed: bool) -> list[int]:
        """Where each partition ends: for readers of committed records before the first open transaction."""
        isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        latest = {TopicPartition(topic, number): OffsetSpec.latest() for number in range(self._partitions(topic))}
        offsets = self.admin.list_offsets(latest, isolation_level=isolation)
        return [
            offsets[partition].result(SECONDS).offset
            for partition in sorted(offsets, key=lambda partition: partition.partition)
        ]

    def _partitions(self, topic: str) -> int:
        metadata = self.admin.list_topics(timeout=SECONDS).topics.get(topic)
        if metadata is None or metadata.error is not None:
            return 0
        return sum(1 for partition in metadata.partitions.values() if partition.leader >= 0)

    def until(self, holds: Callable[[], bool]) -> None:
        """Ask again until it holds, but not for ever."""
        for _ in range(600):
            if holds():
                return
            self.admin.poll(0.1)
        raise AssertionError("the broker does not do what it was asked for")


@contextmanager
def running(folder: Path, nodes: int = 1, settings: Mapping[str, object] | None = None) -> Iterator[Broker]:
    """A cluster with no topics, which ends with the block. The folder is its own."""
    members = _nodes(folder, nodes)
    for node in members:
        _format(node, members, settings or {})
    with ExitStack() as stack:
        for node in members:
            stack.callback(node.kill)
            node.start()
        broker = Broker(members)
        broker.wait()
        yield broker


def _nodes(folder: Path, count: int) -> list[Node]:
    ports = iter(free_ports(count * 7))
    return [Node(n + 1, folder / f"node-{n + 1}", *islice(ports, 7)) for n in range(count)]


def _format(node: Node, nodes: Sequence[Node], more: Mapping[str, object]) -> None:
    shutil.rmtree(node.folder, ignore_errors=True)
    node.folder.mkdir(parents=True)
    copies = min(3, len(nodes))
    listeners = {
        "PLAINTEXT": node.port,
        "SASL_PLAINTEXT": node.sasl_port,
        "SSL": node.ssl_port,
        "SASL_SSL": node.sasl_ssl_port,
        "PROXIED": node.inner_port,
    }
    spoken = _spoken(listeners)
    login = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
    settings = {
        "process.roles": "broker,controller",
        "node.id": node.number,
        "controller.quorum.voters": ",".join(f"{voter.number}@127.0.0.1:{voter.controller_port}" for voter in nodes),
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in _PROTOCOLS.items()),
        "listeners": f"{spoken},CONTROLLER://127.0.0.1:{node.controller_port}",
        "advertised.listeners": _spoken(listeners | {"PROXIED": node.proxied_port}),
        "sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER",
        # takes every token that nobody has signed
        "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": f"{_TOKENS} required;",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": login,
        "listener.name.sasl_ssl.oauthbearer.sasl.jaas.config": f"{_TOKENS} required;",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": login,
        "listener.name.ssl.ssl.client.auth": "required",
        **authority("ours").files_for_broker(node.folder),
        "log.dirs": node.folder / "data",
        "auto.create.topics.enable": "false",
        "offsets.topic.num.partitions": 3,
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.num.partitions": 3,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": min(2, copies),
        "group.initial.rebalance.delay.ms": 0,
        "log.retention.check.interval.ms": 500,
        "log.segment.delete.delay.ms": 100,
        "broker.session.timeout.ms": 3000,
        **more,
    }
    path = node.folder / "server.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    tool = [java(), *_JVM, "-cp", f"{jars(BROKER)}/*", "kafka.tools.StorageTool"]
    ended = subprocess.run(
        [*tool, "format", "-t", _CLUSTER, "-c", str(path)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def _spoken(listeners: Mapping[str, int]) -> str:
    return ",".join(f"{name}://127.0.0.1:{port}" for name, port in listeners.items())


def _delivered(error: KafkaError | None, message: Message) -> None:
    assert error is None, error
