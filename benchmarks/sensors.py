"""500 sensors in the triggerer of a real Airflow, over a control plane with 20 stand-in drivers that commit twice a
second: memory and connections of the triggerer, the server's share of a core, and from a commit to the end of its task.

`python -m benchmarks.sensors [SENSORS] [--in-a-dag N] [--lean]` waits until all gates wait, and then lets epochs be
committed, of which one passes a gate of each pipeline every ten seconds. A pipeline has a DAG with one gate and a run
for each, as an hourly one that is behind has; or DAGs of so many gates, with one run. The end of a task is what Airflow
says of it. Lean gates store no result: `do_xcom_push=False`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.api import BEGIN, CPU_GOAL, DRIVERS, Load, control_plane, cpu_seconds
from tests.real_airflow import RealAirflow, until

SENSORS = 500
EPOCHS_TO_A_GATE = 20
MEMORY_GOAL = 300
"""MiB of the triggerer, both of its processes."""
DELAY_GOAL = 3.0
_PATIENCE = 1200.0
_SETTLING = 20.0
"""Seconds until the triggerer has taken up all gates, and the connections of their first looks are closed."""
_DAG = """
from airflow.sdk import DAG

from airflow_provider_arroyo.sensors.watermark import WatermarkSensor

with DAG({name!r}, schedule=None, max_active_runs=1000, max_active_tasks=1000):
    for task_id, past in {pasts!r}:
        WatermarkSensor(
            task_id=task_id, pipeline={pipeline!r}, past=past, deferrable=True, do_xcom_push={pushes}
        )
"""


@dataclass(frozen=True, slots=True)
class Dag:
    """One of Airflow's, with the logical dates of its runs."""

    name: str
    text: str
    runs: Sequence[datetime | None]


@dataclass(frozen=True, slots=True)
class Gates:
    """What waits."""

    count: int
    in_a_dag: int | None
    """Airflow hands a triggerer the whole DAG with each gate. None for one, with as many runs as there are gates."""
    are_lean: bool

    @property
    def each(self) -> int:
        """How many wait for one pipeline."""
        return self.count // DRIVERS

    def dags(self, pipelines: Iterable[str]) -> Iterator[Dag]:
        """The DAGs that they are in."""
        instants = [_passed_by(number) for number in range(self.each)]
        named = [(f"gate_{number}", instant.isoformat()) for number, instant in enumerate(instants)]
        for pipeline in pipelines:
            if self.in_a_dag is None:
                yield self._dag(f"{pipeline}_0", pipeline, [("gate", "{{ ts }}")], instants)
                continue
            for first in range(0, self.each, self.in_a_dag):
                yield self._dag(f"{pipeline}_{first}", pipeline, named[first : first + self.in_a_dag], [None])

    def _dag(self, name: str, pipeline: str, pasts: Sequence[tuple[str, str]], runs: Sequence[datetime | None]) -> Dag:
        return Dag(name, _DAG.format(name=name, pipeline=pipeline, pasts=pasts, pushes=not self.are_lean), runs)


@dataclass(frozen=True, slots=True)
class Weight:
    """Of the triggerer: MiB, those of the process that waits alone, which is a child of the one that stores, and
    connections to the control plane."""

    all: float
    waiting: float
    connections: int


def _passed_by(number: int) -> datetime:
    """The event time that passes a gate."""
    return BEGIN + timedelta(minutes=passing_epoch(number))


def passing_epoch(number: int) -> int:
    """The epoch whose commit passes a gate."""
    return EPOCHS_TO_A_GATE * (number + 1)


def family(root: int) -> set[int]:
    """A process and all below it."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def weigh(root: int, port: int) -> Weight:
    """What a triggerer takes: pages that processes share are counted once."""
    pids = family(root)
    sizes = {pid: _mebibytes(pid) for pid in pids}
    waiting = sum(size for pid, size in sizes.items() if pid != root)
    return Weight(sum(sizes.values()), waiting, len(_sockets(pids) & _established(port)))


def _mebibytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _sockets(pids: Iterable[int]) -> set[str]:
    found = set()
    for pid in pids:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                found.add(str(descriptor.readlink()).removeprefix("socket:[").removesuffix("]"))
    return found


def _established(port: int) -> set[str]:
    """The sockets of this machine that are connected to a port."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {row[9] for row in rows if row[3] == "01" and int(row[2].rpartition(":")[2], 16) == port}


async def _call_home(load: Load) -> None:
    await asyncio.gather(*(load.beat(driver) for driver in load.drivers))


@contextmanager
def calling_home(load: Load) -> Iterator[None]:
    """All drivers say that they are there, and commit nothing yet."""
    load.commits = False
    with ThreadPoolExecutor(1) as pool:
        calls = pool.submit(asyncio.run, _call_home(load))
        try:
            yield
        finally:
            load.is_over = True
    calls.result()


def commit(load: Load, epochs: int) -> None:
    """Let each driver commit so many epochs."""
    load.commits = True
    until(lambda: min(load.epochs[driver.job_id] for driver in load.drivers), lambda least: least > epochs, _PATIENCE)
    load.commits = False


def _is_known(airflow: RealAirflow, name: str) -> bool:
    return airflow.ask("GET", f"dags/{name}").status_code == 200


def tasks(airflow: RealAirflow, state: str) -> list[dict[str, Any]]:
    """The tasks of all DAGs in a state."""
    found: list[dict[str, Any]] = []
    while True:
        path = f"dags/~/dagRuns/~/taskInstances?state={state}&order_by=id&limit=100&offset={len(found)}"
        page = airflow.ask("GET", path).json()["task_instances"]
        found += page
        if not page:
            return found


def links(airflow: RealAirflow) -> int:
    """How many tasks have a link to their pipeline, as all that wait have."""
    path = "dags/~/dagRuns/~/taskInstances/~/xcomEntries?xcom_key=pipeline_url&limit=1"
    return int(airflow.ask("GET", path).json()["total_entries"])


def measure(airflow: RealAirflow, load: Load, gates: Gates, server: int) -> int:
    """Print what came of it; the exit code says whether all is within the goals."""
    before = weigh(airflow.processes["triggerer"].pid, load.port)
    dags = [*gates.dags(load.names[:DRIVERS])]
    for dag in dags:
        (airflow.home / "dags" / f"{dag.name}.py").write_text(dag.text)
    for dag in dags:
        until(partial(_is_known, airflow, dag.name), bool, _PATIENCE)
        for logical_date in dag.runs:
            airflow.run(dag.name, logical_date)
    held = until(lambda: len(tasks(airflow, "deferred")), lambda count: count == gates.count, _PATIENCE)
    until(lambda: links(airflow), lambda count: gates.are_lean or count == gates.count, _PATIENCE)
    print(f"{held} gates wait", flush=True)
    time.sleep(_SETTLING)
    look = partial(weigh, airflow.processes["triggerer"].pid, load.port)
    waiting = until(look, lambda weight: weight.connections == 1, 60)
    used, begin = cpu_seconds(server), time.monotonic()
    commit(load, passing_epoch(gates.each))
    share = (cpu_seconds(server) - used) / (time.monotonic() - begin)
    after = weigh(airflow.processes["triggerer"].pid, load.port)
    ended = until(lambda: tasks(airflow, "success"), lambda found: len(found) == gates.count, 300)
    return show(delays(ended, load), before, (waiting, after), share)


def delays(ended: Sequence[dict[str, Any]], load: Load) -> list[tuple[float, int]]:
    """From the commit that passed a gate to the end of its task, with the number of the gate, from the shortest on."""
    jobs = {name: driver.job_id for name, driver in zip(load.names, load.drivers, strict=False)}
    found = []
    for task in ended:
        number = _number(task)
        told = load.told[jobs[task["dag_id"].rpartition("_")[0]], passing_epoch(number)]
        found.append((datetime.fromisoformat(task["end_date"]).timestamp() - told, number))
    return sorted(found)


def _number(task: Mapping[str, Any]) -> int:
    """Which gate it is of its pipeline's."""
    if task["task_id"] != "gate":
        return int(task["task_id"].removeprefix("gate_"))
    minutes = (datetime.fromisoformat(task["logical_date"]) - BEGIN) // timedelta(minutes=1)
    return minutes // EPOCHS_TO_A_GATE - 1


def show(gates: Sequence[tuple[float, int]], before: Weight, loaded: Sequence[Weight], share: float) -> int:
    """Print the figures; the exit code says whether all are within their goals."""
    spans = [span for span, _ in gates]
    print(f"{'triggerer':24}{'MiB':>8}{'of the process that waits':>28}{'connections':>14}")
    for name, weight in zip(("without a gate", "all wait", "at the end"), (before, *loaded), strict=True):
        print(f"{name:24}{weight.all:8.0f}{weight.waiting:28.0f}{weight.connections:14}")
    late = sum(span > DELAY_GOAL for span in spans)
    print(
        f"from a commit to the end of its task: p50 {statistics.median(spans):.2f} s, p99 "
        f"{spans[int(len(spans) * 0.99)]:.2f} s, longest {spans[-1]:.2f} s; {late} of {len(spans)} over {DELAY_GOAL}"
    )
    overdue = Counter(number for span, number in gates if span > DELAY_GOAL)
    print(f"of these, by the number of the gate: {', '.join(f'{n} of {at}' for at, n in overdue.items()) or 'none'}")
    print(f"the server used {share:.2f} of a core; load {os.getloadavg()[0]:.1f}")
    heaviest = max(weight.all for weight in loaded)
    return 1 if late or share > CPU_GOAL or heaviest > MEMORY_GOAL else 0


def main() -> int:
    """Serve, wait, commit, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sensors")
    parser.add_argument("sensors", type=int, nargs="?", default=SENSORS, help="how many wait")
    parser.add_argument("--in-a-dag", type=int, help="how many of them are in one DAG (default: one, in many runs)")
    parser.add_argument("--lean", action="store_true", help="they store no result")
    chosen = parser.parse_args()
    if chosen.sensors < DRIVERS or (chosen.in_a_dag is not None and chosen.in_a_dag < 1):
        parser.error(f"at least {DRIVERS} sensors, and one in a DAG")
    gates = Gates(chosen.sensors // DRIVERS * DRIVERS, chosen.in_a_dag, chosen.lean)
    with (
        tempfile.TemporaryDirectory(prefix="bench-sensors-") as folder,
        control_plane(Path(folder) / "data", pipelines_in_all=DRIVERS) as (load, url, server),
    ):
        connection = {"conn_type": "arroyo", "host": url, "password": load.token}
        home = Path(folder) / "airflow"
        home.mkdir()
        with calling_home(load), RealAirflow(home, json.dumps(connection)) as airflow:
            return measure(airflow, load, gates, server)


if __name__ == "__main__":
    sys.exit(main())
