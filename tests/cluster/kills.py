"""The kill loop of a cluster: `python -m tests.cluster.kills files --cycles 100 --events 1000000 --seed 1`.

    a cycle     wait until the run has committed some epochs more, then kill -9 one of its parts
    executor    Spark starts another one
    worker      with its executors; a new machine takes its place
    driver      a new one is started, as a control plane does
    master      another one is started at its address, which knows nothing of the run; that goes on, or ends with an
                error of the cluster and is started again

The input is counted, so a reader knows each row that must be there: none may be lost, doubled or out of order. Windows
over the same rows have their state in a bucket, and must be whole too.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.json as pa_json

from engine.checkpoints import spark_log
from engine.checkpoints.layout import StatePaths
from tests.chaos.check import judge
from tests.chaos.events import numbers_of
from tests.chaos.servers import kafka
from tests.chaos.targets import TARGETS, Part, Place
from tests.cluster.parts import Cluster, running
from tests.cluster.play import start
from tests.cluster.stores import new_bucket, serving

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from tests.cluster.stores import ObjectStore

VICTIMS = ("executor", "worker", "driver", "master")
PATIENCE = 400.0
"""Seconds after which a run should have committed an epoch more, starts and losses included."""
GONE = 20.0
"""The seconds without any executor after which a run of this loop ends."""
_WINDOW = 1000
_CODE = re.compile(r"\b(run|state|data|delivery)\.[a-z_]+: ")
_SQL = """
CREATE TABLE numbers WITH (connector = 'impulse', event_rate = 1000000, message_count = {events},
  event_time_interval = '1 second', start_time = '2024-01-01T00:00:00Z');
CREATE TABLE target (n BIGINT NOT NULL, key TEXT NOT NULL, shard BIGINT NOT NULL, body TEXT NOT NULL) WITH ({target});
CREATE TABLE windows (first BIGINT, n BIGINT)
WITH (connector = 'single_file', path = '{root}/windows.json', format = 'json', type = 'sink');
INSERT INTO target SELECT counter, concat('k', CAST(counter % 96 AS TEXT)), counter % 3,
  CAST((counter * 2654435761) % 4294967291 AS TEXT) FROM numbers;
INSERT INTO windows SELECT first, n FROM (
  SELECT tumble(INTERVAL '{window} seconds') AS w, min(counter) AS first, count(*) AS n FROM numbers GROUP BY w
);
"""


@dataclass(frozen=True, slots=True)
class Sink:
    """A target of the loop: its options in SQL, and which of the loops without Spark knows how to read it."""

    options: Callable[[Place, ObjectStore], str]
    reader: str
    server: Callable[[Path], AbstractContextManager[str]] = lambda _: nullcontext("")


def _objects(_: Place, store: ObjectStore) -> str:
    return (
        f"connector = 'filesystem', path = 's3://{store.bucket}/out', format = 'json', type = 'sink',"
        " 'partitioning.fields' = [shard]"
    )


def _delta(place: Place, _: ObjectStore) -> str:
    return f"connector = 'delta', path = '{place.root}/out', 'partitioning.fields' = [shard], type = 'sink'"


def _kafka(place: Place, _: ObjectStore) -> str:
    return (
        f"connector = 'kafka', bootstrap_servers = '{place.address}', topic = '{place.name}', format = 'json',"
        " type = 'sink', 'sink.commit_mode' = 'exactly_once', 'sink.key_field' = 'key'"
    )


SINKS: Mapping[str, Sink] = {
    "files": Sink(_objects, "s3"),
    "delta": Sink(_delta, "delta"),
    "kafka": Sink(_kafka, "kafka", kafka),
}


@dataclass(slots=True)
class KillLoop:
    """A pipeline on a cluster, and what is done to it."""

    cluster: Cluster
    store: ObjectStore
    sink: Sink
    place: Place
    events: int
    epoch_rows: int
    chance: random.Random
    process: subprocess.Popen[str] | None = None
    ends: Counter[str] = field(default_factory=Counter)
    """Number of restarts of the run, by the error before them."""

    @property
    def state(self) -> Path:
        """Return the state directory of the pipeline."""
        return self.place.root / "state"

    @property
    def newest(self) -> int:
        """Return the newest committed epoch."""
        found = spark_log.newest_commit(StatePaths(self.state).checkpoint)
        return -1 if found is None else found

    def kill_all(self, victims: list[str]) -> None:
        """Kill them one after another, each after some epochs."""
        for victim in victims:
            self._go_on(self.newest + self.chance.randint(1, 2))
            time.sleep(self.chance.random())  # anywhere in an epoch
            self._kill(victim)

    def finish(self) -> None:
        """Let the run come to its end."""
        deadline = time.monotonic() + PATIENCE + self.events / 500
        while time.monotonic() < deadline:
            process = self._running()
            try:
                process.wait(1)
            except subprocess.TimeoutExpired:
                continue
            if process.returncode == 0:
                return
        raise AssertionError(f"the run does not end: {self._said()}")

    def faults(self) -> list[str]:
        """Return what is wrong with the output."""
        verdict = judge(self._parts(), self.events)
        lines = [json.loads(line) for line in (self.place.root / "windows.json").read_text().splitlines()]
        windows = Counter((line["first"], line["n"]) for line in lines)
        expected = Counter(self._windows())
        found = [] if verdict.is_clean else [str(verdict)]
        return found + ([] if windows == expected else [f"windows: {len(windows)} instead of {len(expected)}"])

    def _windows(self) -> Iterator[tuple[int, int]]:
        """Yield the first number and the rows of each window: they begin at multiples of their length since 1970."""
        begin = -1_704_067_200 % _WINDOW  # 2024-01-01
        firsts = sorted({0, *range(begin, self.events, _WINDOW)})
        yield from ((first, end - first) for first, end in pairwise([*firsts, self.events]))

    def _parts(self) -> list[Part]:
        if self.sink.reader != "s3":
            return list(TARGETS[self.sink.reader].view(self.place).new())
        parts = []
        for key in sorted(key for key in self.store.keys("out/") if key.endswith(".json")):
            body = self.store.client.get_object(Bucket=self.store.bucket, Key=key)["Body"].read()
            folder, _, name = key.rpartition("/")
            parts.append(Part(folder, name, *numbers_of(pa_json.read_json(io.BytesIO(body)))))
        return parts

    def _kill(self, victim: str) -> None:
        match victim:
            case "driver":
                process = self._running()
                process.kill()
                process.communicate()
            case "executor":
                if pids := self.cluster.executors():
                    os.kill(self.chance.choice(pids), signal.SIGKILL)
            case "worker":
                with_executors = [worker for worker in self.cluster.workers if worker.executors()]
                worker = self.chance.choice(with_executors or self.cluster.workers)
                worker.kill()
                self.cluster.workers.remove(worker)
                self.cluster.start_worker()
            case "master":
                self.cluster.restart_master()

    def _go_on(self, epoch: int) -> None:
        """Wait until an epoch is committed, or the input ends."""
        deadline = time.monotonic() + PATIENCE
        while self.newest < epoch:
            assert time.monotonic() < deadline, f"epoch {epoch} is not committed: {self._said()}"
            if self._running().poll() == 0:
                return
            time.sleep(0.1)

    def _running(self) -> subprocess.Popen[str]:
        """Return the driver; a new one if the last has ended in another way than at the end of the input."""
        if self.process is not None and self.process.poll() in (None, 0):
            return self.process
        if self.process is not None:
            self.ends[self._said()] += 1
        environment = {**self.store.environment, "ARROYO_NET_ALLOW": "127.0.0.1"}
        self.process = start(
            self.place.root / "q.sql",
            self.state,
            self.cluster,
            environment=environment,
            max_epoch_rows=self.epoch_rows,
            patience=GONE,
            state_url=f"{self.store.url}/jobs",
        )
        return self.process

    def _said(self) -> str:
        """Return the last line that the driver has said, if it has ended."""
        if self.process is None or self.process.poll() is None:
            return "it runs"
        if self.process.returncode == -signal.SIGKILL:
            return "killed"
        lines = self.process.communicate()[1].strip().splitlines()
        return next((line.strip() for line in reversed(lines) if _CODE.search(line)), "nothing")[:300]

    def close(self) -> None:
        """Leave no driver behind."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.kill()
        if self.process.stderr is not None and not self.process.stderr.closed:
            self.process.communicate()


@contextmanager
def opened(root: Path, sink: str, *, events: int, epoch_rows: int, seed: int) -> Iterator[KillLoop]:
    """Start a cluster, a store and what the sink needs."""
    kind = SINKS[sink]
    with ExitStack() as stack:
        store = new_bucket(stack.enter_context(serving("moto", root / "store")), "kills")
        place = Place(root, stack.enter_context(kind.server(root)))
        if kind.reader == "kafka":
            TARGETS[kind.reader].prepare(place)
        cluster = stack.enter_context(running(root / "cluster"))
        target = kind.options(place, store)
        (root / "q.sql").write_text(_SQL.format(events=events, target=target, root=root, window=_WINDOW))
        loop = KillLoop(cluster, store, kind, place, events, epoch_rows, random.Random(seed))
        stack.callback(loop.close)
        yield loop


def victims_of(cycles: int, chance: random.Random) -> list[str]:
    """Return whom to kill: each kind about as often, in an order by chance."""
    victims = [VICTIMS[number % len(VICTIMS)] for number in range(cycles)]
    chance.shuffle(victims)
    return victims


def main() -> int:
    """Run one loop."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.kills", description=__doc__)
    parser.add_argument("sink", choices=sorted(SINKS))
    parser.add_argument("--cycles", type=int, default=5)
    parser.add_argument("--events", type=int, default=0, help="at least so many")
    parser.add_argument("--epoch-rows", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    events = max(options.events, (3 * options.cycles + 5) * options.epoch_rows)
    root = Path(tempfile.mkdtemp(prefix="kills-"))
    epoch_rows = max(1000, min(options.epoch_rows, events // (3 * options.cycles + 5)))
    with opened(root, options.sink, events=events, epoch_rows=epoch_rows, seed=options.seed) as loop:
        loop.kill_all(victims_of(options.cycles, random.Random(options.seed)))
        loop.finish()
        faults = loop.faults()
    verdict = "; ".join(faults) or "0 lost, 0 doubled, 0 out of order"
    ends = "".join(f"\n  {count} times: {how}" for how, count in loop.ends.items())
    print(f"{options.sink}, seed {options.seed}, {options.cycles} cycles, {events} events: {verdict}{ends}")  # noqa: T201 - it is what one waits for
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
