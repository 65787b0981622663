"""`make bench-latency`: from an event that is produced to its row before a reader who reads what is committed.

`python -m benchmarks.latency [RATE [SECONDS [SHAPE ...]]]` runs each shape with `arroyo run` and its own settings in
every way: events from a topic into a topic, exactly once; and from files that come into a directory, ten a second, into
a file. The first seconds warm up. A line of JSON for each, then a table. With `most` as the rate, each is run at twice
the rate again and again, and the last counts that left the machine 30 % idle, with what makes and reads events on it.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from confluent_kafka import Consumer, Producer

from benchmarks.latency_figures import Latencies, SeenRow, row_latencies, summarize, window_latencies
from tests.kafka.broker import Broker, running

WARM = 15.0
"""Seconds of events that do not count: Java is still compiling."""
_LEAST_IDLE = 0.30
_LEAST_RATE, _MOST_RATE = 1_000, 128_000
_START = 300.0
"""Seconds until the first row must be there."""
_TICK = 0.02
"""Seconds between two bursts of events."""
GOALS: Mapping[str, tuple[float, float | None]] = {"stateless": (0.250, 0.800), "tumble": (0.700, None)}
"""p50 and p99, in seconds."""
_SHAPES: Mapping[str, str] = {
    "stateless": "INSERT INTO output SELECT sent AS instant FROM events WHERE number % 2 = 0;",
    "tumble": "INSERT INTO output SELECT extract(epoch FROM w.end) AS instant FROM ("
    "SELECT tumble(INTERVAL '2 seconds') AS w, count(*) FROM events GROUP BY w);",
}
_EVENTS = "number BIGINT, sent DOUBLE, ts TIMESTAMP NOT NULL, WATERMARK FOR ts"


class Way(Protocol):
    """How events come in and rows go out."""

    @property
    def tables(self) -> str:
        """The source and the sink, as SQL."""

    def produce(self, events: Sequence[bytes]) -> None:
        """Let the events be there for the source, now."""

    def rows(self) -> Iterator[bytes]:
        """The rows that have come since, as a reader sees them; it may wait for some milliseconds."""


@dataclass
class FileWay:
    """Files that come into a directory whole, and a file that rows are appended to."""

    folder: Path
    _count: int = 0
    _waiting: list[bytes] = field(default_factory=list)
    _written_at: float = 0.0
    _read: int = 0

    @property
    def tables(self) -> str:
        """The source and the sink."""
        (self.folder / "in").mkdir(exist_ok=True)
        return f"""
CREATE TABLE events ({_EVENTS}) WITH (connector = 'filesystem', type = 'source', format = 'json',
  path = '{self.folder}/in', source.watch = true, source.settle_time = INTERVAL '0 seconds');
CREATE TABLE output (instant DOUBLE)
WITH (connector = 'single_file', type = 'sink', format = 'json', path = '{self.folder}/out');
"""

    def produce(self, events: Sequence[bytes]) -> None:
        """A file every tenth of a second."""
        self._waiting += events
        if time.monotonic() < self._written_at + 0.1:
            return
        self._written_at = time.monotonic()
        draft = self.folder / "draft"
        draft.write_bytes(b"".join(event + b"\n" for event in self._waiting))
        draft.rename(self.folder / "in" / f"{self._count:06}.json")
        self._count += 1
        self._waiting = []

    def rows(self) -> Iterator[bytes]:
        """The lines that were appended."""
        time.sleep(0.005)
        path = self.folder / "out"
        if not path.exists() or path.stat().st_size == self._read:
            return
        with path.open("rb") as file:
            file.seek(self._read)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._read += len(whole)
        yield from whole.splitlines()


class KafkaWay:
    """A topic in, and a topic out that is written exactly once and read with `read_committed`."""

    def __init__(self, broker: Broker) -> None:
        source, sink = (f"{topic}-{uuid.uuid4().hex[:8]}" for topic in ("events", "output"))
        broker.create_topic(source, 2, retention_ms=-1)
        broker.create_topic(sink, 1)
        self.tables = f"""
CREATE TABLE events ({_EVENTS}) WITH (connector = 'kafka', type = 'source', format = 'json',
  bootstrap_servers = '{broker.address}', topic = '{source}', source.offset = 'earliest');
CREATE TABLE output (instant DOUBLE) WITH (connector = 'kafka', type = 'sink', format = 'json',
  bootstrap_servers = '{broker.address}', topic = '{sink}', sink.commit_mode = 'exactly_once');
"""
        self._topic = source
        self._producer = Producer(broker.client_options(linger_ms=1))
        options = {"group_id": "reader", "auto_offset_reset": "earliest", "isolation_level": "read_committed"}
        self._consumer = Consumer(broker.client_options(**options, fetch_wait_max_ms=10))
        self._consumer.subscribe([sink])
        self._number = 0

    def produce(self, events: Sequence[bytes]) -> None:
        """To both partitions in turn."""
        for event in events:
            self._number += 1
            self._producer.produce(self._topic, event, partition=self._number % 2)
        self._producer.poll(0)

    def rows(self) -> Iterator[bytes]:
        """The records that are committed."""
        for message in self._consumer.consume(10_000, 0.01):
            if message.error() is None:
                yield message.value() or b""


@dataclass(frozen=True, slots=True)
class Result:
    """What one shape came to in one way; `epochs` were committed in each second, of that median duration."""

    way: str
    shape: str
    rate: int
    latencies: Latencies
    epochs: float
    epoch: float
    load: float
    idle: float
    """The share of all cores that nothing ran on."""


@dataclass
class Feed:
    """A thread that produces at a steady rate. Events have the time at which they are produced."""

    way: Way
    rate: int
    produced: list[float] = field(default_factory=list)
    _ends: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Produce until it is to end."""
        begin, number = time.time(), 0
        while not self._ends.wait(_TICK):
            due = int((time.time() - begin) * self.rate)
            now = time.time()
            text = datetime.fromtimestamp(now, UTC).isoformat().replace("+00:00", "Z")
            events = [b'{"number":%d,"sent":%.6f,"ts":"%s"}' % (n, now, text.encode()) for n in range(number, due)]
            if events:
                self.way.produce(events)
                self.produced += [now] * len(events)
            number = due

    def end(self) -> None:
        """Produce no more."""
        self._ends.set()


def measure(way: Way, name: str, shape: str, rate: int, seconds: float, scratch: Path) -> Result:
    """Run a shape until its first row is there, then for so many seconds more."""
    (scratch / "q.sql").write_text(way.tables + _SHAPES[shape])
    command = [sys.executable, "-m", "engine", "run", str(scratch / "q.sql"), "--state-dir", str(scratch / "state")]
    feed, reports = Feed(way, rate), scratch / "reports"
    with reports.open("w") as file:
        run = subprocess.Popen([*command, "--json-progress"], stdout=subprocess.DEVNULL, stderr=file)
    thread = threading.Thread(target=feed.run)
    thread.start()
    seen: list[SeenRow] = []
    try:
        _read(way, seen, lambda: bool(seen), _START, run)
        since = time.time() + WARM
        _read(way, seen, lambda: time.time() >= since, WARM + 10, run)
        begin = _rested()
        _read(way, seen, lambda: time.time() >= since + seconds, seconds + 10, run)
        rested, passed = (now - then for now, then in zip(_rested(), begin, strict=True))
    finally:
        feed.end()
        thread.join()
        run.terminate()
        run.wait()
    rows = shape == "stateless"
    latencies = row_latencies(seen, since) if rows else window_latencies(seen, feed.produced, since)
    durations = _durations(reports, since)
    load = os.getloadavg()[0]
    median = statistics.median(durations) if durations else 0.0
    return Result(name, shape, rate, summarize(latencies), len(durations) / seconds, median, load, rested / passed)


def _rested() -> tuple[int, int]:
    """For how long nothing ran on the cores so far, and how long that is of all."""
    ticks = [int(text) for text in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


def measure_most(open_way: Callable[[Path], Way], name: str, shape: str, seconds: float) -> Result:
    """The result at the highest rate that leaves the machine idle enough; at the least one in any case."""
    best: Result | None = None
    rate = _LEAST_RATE
    while rate <= _MOST_RATE:
        result = measure_anew(open_way, name, shape, rate, seconds)
        if best is not None and result.idle < _LEAST_IDLE:
            break
        best, rate = result, 2 * rate
    assert best is not None
    return best


def measure_anew(open_way: Callable[[Path], Way], name: str, shape: str, rate: int, seconds: float) -> Result:
    """Run a shape in a directory of its own; says what came of it."""
    scratch = Path(tempfile.mkdtemp(prefix="bench-"))
    result = measure(open_way(scratch), name, shape, rate, seconds, scratch)
    shutil.rmtree(scratch, ignore_errors=True)
    print(json.dumps(asdict(result)), flush=True)
    return result


def _read(
    way: Way, seen: list[SeenRow], is_over: Callable[[], bool], patience: float, run: subprocess.Popen[bytes]
) -> None:
    deadline = time.monotonic() + patience
    while not is_over():
        rows = list(way.rows())
        now = time.time()
        seen += [SeenRow(float(json.loads(row)["instant"]), now) for row in rows]
        if run.poll() is not None or time.monotonic() > deadline:
            raise SystemExit("the run has ended, or no row came")


def _durations(reports: Path, since: float) -> list[float]:
    """How long the epochs took that were committed from an instant on."""
    contents = (json.loads(line) for line in reports.read_text().splitlines() if line.startswith("{"))
    return [
        float(content["duration_seconds"])
        for content in contents
        if "duration_seconds" in content and datetime.fromisoformat(content["at"]).timestamp() >= since
    ]


def main(rate: int | None, seconds: float, shapes: Sequence[str]) -> int:
    """Print a line for each, at a rate or at the highest; the exit code says whether all are within the goals."""
    results: list[Result] = []
    ways: Mapping[str, Callable[[Path], Way]]
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="latency-")))
        broker = opened.enter_context(running(folder))
        ways = {"kafka": lambda _: KafkaWay(broker), "files": FileWay}
        for shape in shapes:
            for name, open_way in ways.items():
                if rate is None:
                    results.append(measure_most(open_way, name, shape, seconds))
                else:
                    results.append(measure_anew(open_way, name, shape, rate, seconds))
    print(f"{seconds:.0f} s, {os.cpu_count()} cores; milliseconds")
    print(f"{'':20}{'events/s':>10}{'p50':>8}{'p99':>8}{'epochs/s':>10}{'epoch':>8}{'idle':>6}{'load':>6}{'goal':>12}")
    for result in results:
        p50, p99 = result.latencies.p50 * 1000, result.latencies.p99 * 1000
        goal = " ".join(f"{limit * 1000:.0f}" for limit in GOALS[result.shape] if limit)
        print(
            f"{result.shape:10} {result.way:9}{result.rate:10,}{p50:8.0f}{p99:8.0f}{result.epochs:10.1f}"
            f"{result.epoch * 1000:8.0f}{result.idle:6.0%}{result.load:6.0f}{goal:>12}"
        )
    return 0 if all(_is_reached(result) for result in results) else 1


def _is_reached(result: Result) -> bool:
    p50, p99 = GOALS[result.shape]
    return result.latencies.p50 <= p50 and (p99 is None or result.latencies.p99 <= p99)


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] != "most" and not sys.argv[1].isdigit():
        sys.exit(f"the rate is events a second, or `most`, and not {sys.argv[1]!r}")
    _rate, _seconds = (sys.argv[1:3] + ["1000", "30"][len(sys.argv[1:3]) :])[:2]
    sys.exit(main(None if _rate == "most" else int(_rate), float(_seconds), sys.argv[3:] or list(_SHAPES)))
