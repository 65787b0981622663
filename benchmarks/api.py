"""The control plane under load: `arroyo serve` with 1,000 pipelines, 20 of which have a stand-in driver that calls home
twice a second, an epoch each time, while 500 requests are held for gates of these 20.

`python -m benchmarks.api [SECONDS]` prints how long a pipeline, a watermark and lists took, and the server's share of a
core. The pipelines are written into the database beforehand; a driver is a `sleep`, which is all that the control plane
sees of one, and this process calls home in its place.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.served import ended_by_signals
from engine.jobs import disk
from engine.jobs.controller import hash_key
from engine.jobs.decisions.spec import Pipeline, Spec, StopRequest, Version
from engine.jobs.decisions.states import State
from engine.jobs.decisions.status import Run, Status
from engine.jobs.disk import DataDirectory
from engine.jobs.processes import processes
from engine.store.database import open_database
from engine.store.jobs import jobs, runs
from engine.store.pipelines import pipelines, versions
from engine.values.instants import now, to_micros

PIPELINES, DRIVERS, HELD = 1000, 20, 500
HEARTBEAT = 0.5
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
GOALS = {"get": 0.1, "watermark": 0.1, "list 100": 0.2}
"""The longest that 99 of 100 answers may take, in seconds."""
CPU_GOAL = 1 / 3
QUERY = "INSERT INTO nowhere SELECT auction, price FROM bids WHERE auction % 2 = 0; -- and so on\n" * 25
NODES = [{"id": n, "label": f"Filter {n}", "columns": ["a", "b"]} for n in range(30)]
GRAPH = json.dumps({"nodes": NODES, "edges": []})


@dataclass(frozen=True, slots=True)
class Driver:
    """A stand-in: the run that it calls home for, and the process that is looked at."""

    pipeline_id: str
    job_id: str
    key: str
    process: subprocess.Popen[bytes]


@dataclass(slots=True)
class Load:
    """What is asked of the server, and how long the answers took."""

    port: int
    token: str
    drivers: list[Driver]
    names: list[str]
    epochs: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    told: dict[tuple[str, int], float] = field(default_factory=dict)
    """When the server was told of an epoch of a job."""
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    gates_passed: int = 0
    is_over: bool = False
    commits: bool = True
    """Whether drivers commit epochs, or say only that they are there."""
    signs: int = 0
    """What has been said so far."""

    async def beat(self, driver: Driver) -> None:
        """Call home twice a second, with an epoch."""
        wire = await Wire.open(self.port, driver.key)
        await asyncio.sleep(random.random() * HEARTBEAT)
        while not self.is_over:
            epoch = self.epochs[driver.job_id]
            at = minute(epoch)
            report = {
                "epoch": epoch,
                "rows_in": 1000,
                "rows_out": 10,
                "rows_per_second": 2000.0,
                "duration": 400_000,
                "watermark": at,
                "source_watermarks": {"bids": at},
                "sinks": {"nowhere": {"complete_until": at, "output_until": at}},
                "lineage": "a",
                "at": to_micros(now()),
            }
            commits, self.signs = self.commits, self.signs + 1
            reports = [report] if commits else []
            body = {"state": "running", "reports": reports, "signs": self.signs, "step": None}
            if commits:
                self.told[driver.job_id, epoch] = time.time()
            begin = time.perf_counter()
            await wire.ask("POST", f"/api/v1/runs/{driver.job_id}/1/heartbeat", body)
            self.seconds["heartbeat"].append(time.perf_counter() - begin)
            self.epochs[driver.job_id] += commits
            await asyncio.sleep(max(0.0, HEARTBEAT - (time.perf_counter() - begin)))

    async def hold(self, driver: Driver) -> None:
        """Wait for one gate after the other, each some epochs ahead."""
        wire = await Wire.open(self.port, self.token)
        while not self.is_over:
            past = minute(self.epochs[driver.job_id] + random.randint(5, 100))
            path = f"/api/v1/pipelines/{driver.pipeline_id}/watermark?past={past}&timeout_seconds=55"
            answer = await wire.ask("GET", path)
            if not json.loads(answer)["passed"]:
                raise SystemExit("a gate was not passed in time")
            self.gates_passed += 1

    async def measure(self, name: str, pause: float) -> None:
        """Ask for the same kind of thing again and again."""
        while not self.is_over:
            await asyncio.sleep(pause * 2 * random.random())
            wire = await Wire.open(self.port, self.token)
            paths = {
                "get": f"/pipelines/{random.choice(self.names)}",
                "watermark": f"/pipelines/{random.choice(self.drivers).pipeline_id}/watermark",
                "list 100": "/pipelines?limit=100" + LIST_QUERY,
                "list 1000": "/pipelines?limit=1000" + LIST_QUERY,
            }
            begin = time.perf_counter()
            await wire.ask("GET", f"/api/v1{paths[name]}")
            self.seconds[name].append(time.perf_counter() - begin)
            wire.writer.close()


LIST_QUERY = os.environ.get("BENCH_LIST", "")
"""What a list is asked with besides; for comparisons."""


@dataclass(slots=True)
class Wire:
    """A connection that stays open; plain, so that asking costs little beside answering."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    token: str

    @staticmethod
    async def open(port: int, token: str) -> Wire:
        """Connect."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
        return Wire(reader, writer, token)

    async def ask(self, method: str, path: str, body: object = None) -> bytes:
        """Send a request and read its answer."""
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        self.writer.write(head.encode() + content)
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        if " 200 " not in lines[0]:
            raise SystemExit(f"{method} {path}: {lines[0]}")
        length = next(int(line.partition(":")[2]) for line in lines if line.lower().startswith("content-length"))
        return await self.reader.readexactly(length)


def minute(epoch: int) -> int:
    """The watermark of an epoch."""
    return to_micros(BEGIN + timedelta(minutes=epoch))


def fill(
    directory: DataDirectory, running: int = DRIVERS, pipelines_in_all: int = PIPELINES
) -> tuple[list[Driver], list[str]]:
    """Write a thousand pipelines down, or as many as are asked for, some of which run."""
    database = open_database(directory)
    drivers, names = [], []
    with database.writing() as connection:
        for number in range(pipelines_in_all):
            at = now() - timedelta(days=1) + timedelta(seconds=number)
            has_run = number < running
            pipeline = Pipeline(
                id=disk.make("pl"),
                name=f"pipeline-{number}",
                job_id=disk.make("job"),
                version=1,
                parallelism=1,
                created_at=at,
                stop="none" if has_run else "checkpoint",
                stop_request=None if has_run else StopRequest("benchmark", at),
            )
            pipelines.add(connection, pipeline)
            versions.add(connection, Version(pipeline.id, 1, Spec(QUERY), "fingerprint", GRAPH, at, meaning="meaning"))
            state = State.RUNNING if has_run else State.STOPPED
            jobs.add(connection, Status(pipeline.job_id, pipeline.id, state, at, at, 1, 1, 1, running_since=at))
            run = Run(pipeline.job_id, pipeline.id, 1, hash_key(f"key-{number}"), 1, 1, at)
            runs.add(connection, run)
            runs.set_running(connection, run, at)
            names.append(pipeline.name)
            if has_run:
                process = subprocess.Popen(["sleep", "3600"], start_new_session=True)
                runs.set_process(connection, run, process.pid, processes.born(process.pid) or "")
                drivers.append(Driver(pipeline.id, pipeline.job_id, f"key-{number}", process))
            else:
                runs.end(connection, run.job_id, 1, at)
    database.close()
    return drivers, names


async def play(load: Load, seconds: float, server: int) -> float:
    """Ask for so long; the server's share of a core."""
    tasks = [asyncio.create_task(load.beat(driver)) for driver in load.drivers]
    await asyncio.sleep(2)
    tasks += [asyncio.create_task(load.hold(load.drivers[at % DRIVERS])) for at in range(HELD)]
    await asyncio.sleep(5)
    load.seconds.clear()
    rates = (("get", 0.2), ("watermark", 0.2), ("list 100", 1.0), ("list 1000", 10.0))
    tasks += [asyncio.create_task(load.measure(name, pause)) for name, pause in rates]
    before, begin = cpu_seconds(server), time.monotonic()
    done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    for task in done:
        task.result()
    share = (cpu_seconds(server) - before) / (time.monotonic() - begin)
    load.is_over = True
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return share


def cpu_seconds(pid: int) -> float:
    """What a process has computed so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def control_plane(
    folder: Path, running: int = DRIVERS, pipelines_in_all: int = PIPELINES
) -> Iterator[tuple[Load, str, int]]:
    """A control plane over stand-in drivers, its URL and its process. In the end all of it is gone, also where a signal
    ends it. It keeps no spares: a Java that starts would be measured, too."""
    directory = DataDirectory(folder)
    settings = {"ARROYO_HOME": str(folder), "ARROYO__API__PORT": "0", "ARROYO__PIPELINE__SPARE_DRIVERS": "0"}
    with ended_by_signals(), ExitStack() as stack:
        drivers, names = fill(directory, running, pipelines_in_all)
        for driver in drivers:
            stack.callback(driver.process.wait)
            stack.callback(driver.process.kill)
        server = subprocess.Popen([sys.executable, "-m", "engine", "serve"], env={**os.environ, **settings})
        stack.callback(server.wait)
        stack.callback(server.terminate)
        while not directory.server.exists():
            if server.poll() is not None:
                raise SystemExit("the control plane has ended")
            time.sleep(0.1)
        url = str(json.loads(directory.server.read_text())["url"])
        load = Load(int(url.rpartition(":")[2]), directory.token.read_text().strip(), drivers, names)
        try:
            yield load, url, server.pid
        finally:
            load.is_over = True


def main() -> int:
    """Serve, ask, and print what came of it."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    with (
        tempfile.TemporaryDirectory(prefix="bench-api-") as folder,
        control_plane(Path(folder)) as (load, _, server),
    ):
        share = asyncio.run(play(load, seconds, server))
    return show(load, share, seconds)


def show(load: Load, share: float, seconds: float) -> int:
    """Print the figures; the exit code says whether all are within their goals."""
    missed = []
    print(f"{PIPELINES} pipelines, {DRIVERS} drivers, {HELD} held; {seconds:.0f} s, load {os.getloadavg()[0]:.1f}")
    for name, spans in sorted(load.seconds.items()):
        p50, p99 = statistics.median(spans), sorted(spans)[int(len(spans) * 0.99)]
        print(f"{name:10} {len(spans):6} times   p50 {p50 * 1000:7.1f} ms   p99 {p99 * 1000:7.1f} ms")
        if p99 > GOALS.get(name, float("inf")):
            missed.append(name)
    print(f"gates passed: {load.gates_passed}; the server used {share:.2f} of a core")
    if share > CPU_GOAL:
        missed.append("share of a core")
    print(f"not within the goal: {', '.join(missed) or 'none'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
