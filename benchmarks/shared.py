"""Many small pipelines on one machine: in one Java, and each in its own.

`python -m benchmarks.shared [PIPELINES [SECONDS [shared|own ...]]]` has a control plane run so many pipelines of 100
rows a second, a third each stateless, of windows and updating, all of which share Java or none of which does. When all
have been running for a while it prints how far apart the epochs were, the memory of all processes with shared pages
counted once, and their CPU. The control plane itself is left out.
"""

from __future__ import annotations

import os
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.served import marked, served
from engine.checkpoints.layout import StatePaths
from engine.cli.base import Client
from engine.jobs.processes import processes
from engine.jobs.processes.process_usage import is_java

RATE = 100
SOURCE = f"""
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = '{RATE}', event_time_interval = '10 milliseconds',
  start_time = '2026-01-01T00:00:00Z');
"""
KINDS: Mapping[str, str] = {
    "stateless": """
CREATE TABLE out WITH (connector = 'single_file', path = '{out}', format = 'json', type = 'sink');
INSERT INTO out SELECT counter, counter * 2 AS twice FROM ticks WHERE counter % 3 = 0;
""",
    "windows": """
CREATE TABLE out WITH (connector = 'single_file', path = '{out}', format = 'json', type = 'sink');
INSERT INTO out
SELECT counter % 8 AS k, tumble(INTERVAL '1 second') AS w, count(*) AS n FROM ticks GROUP BY k, w;
""",
    "updating": """
CREATE TABLE out WITH (connector = 'single_file', path = '{out}', format = 'debezium_json', type = 'sink');
INSERT INTO out SELECT counter % 8 AS k, count(*) AS n, sum(counter) AS total FROM ticks GROUP BY k;
""",
}
_SETTLED = 40.0
"""Seconds after the last has come up: Java compiles, and the pace finds itself."""
_PATIENCE = 900.0
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Used:
    """What processes have used so far, and hold now."""

    cpu: Mapping[int, float]
    kinds: Mapping[int, str]
    megabytes: Mapping[str, float]


def main(arguments: Sequence[str]) -> int:
    """Measure what is named, one after the other."""
    count, seconds = (int(arguments[place]) if len(arguments) > place else usual for place, usual in ((0, 20), (1, 60)))
    print(f"load {os.getloadavg()[0]:.0f} on {os.cpu_count()} processors, {count} pipelines, {seconds} s")
    for isolation in arguments[2:] or ("shared", "own"):
        with tempfile.TemporaryDirectory(prefix="arroyo-shared-") as folder:
            measure(Path(folder), isolation, count, seconds)
    return 0


def measure(folder: Path, isolation: str, count: int, seconds: float) -> None:
    """Print what so many pipelines take."""
    token = secrets.token_hex(8)
    with served(folder / "data", token) as client:
        states = [deploy(client, folder, number, isolation) for number in range(count)]
        begin = time.monotonic()
        while any(state != "Running" for state in states_of_jobs(client)):
            if time.monotonic() - begin > _PATIENCE:
                raise SystemExit(
                    f"not all run: {[(job['state'], job['failure_message']) for job in jobs(client, count)]}"
                )
            time.sleep(0.5)
        print(f"{isolation}: all run after {time.monotonic() - begin:.0f} s")
        time.sleep(_SETTLED)
        before, at = used(token), time.time()
        time.sleep(seconds)
        after = used(token)
        cores = cores_of(before, after, time.time() - at)
        cpu = sum(cores.values())
        gaps = sorted(gap for state in states for gap in gaps_of_epochs(state, at))
        runs = sum(job["run_id"] for job in jobs(client, count))
        print(f"  memory    {sum(after.megabytes.values()):.0f} MB: " + told(after.megabytes))
        print(f"  CPU       {cpu:.2f} of a core: {told(cores, '.2f')}")
        apart = (
            f"{statistics.median(gaps):.2f} s apart, {gaps[int(len(gaps) * 0.95)]:.2f} at p95, {gaps[-1]:.2f} at most"
        )
        print(f"  epochs    {len(gaps)}, {apart}; {cpu * seconds / len(gaps):.3f} CPU s each")
        print(f"  restarts  {runs - count}; load {os.getloadavg()[0]:.0f}")


def cores_of(before: Used, after: Used, seconds: float) -> Mapping[str, float]:
    """What processes of each kind have used for each second between two looks."""
    cores: dict[str, float] = {}
    for pid, cpu in after.cpu.items():
        kind = after.kinds[pid]
        cores[kind] = cores.get(kind, 0.0) + (cpu - before.cpu.get(pid, 0.0)) / seconds
    return cores


def told(figures: Mapping[str, float], form: str = ".0f") -> str:
    """Kinds of processes with their figures, the largest first."""
    return ", ".join(f"{kind} {figure:{form}}" for kind, figure in sorted(figures.items(), key=lambda item: -item[1]))


def deploy(client: Client, folder: Path, number: int, isolation: str) -> Path:
    """Have the control plane run one more; its state's directory."""
    kind = list(KINDS)[number % len(KINDS)]
    query = SOURCE + KINDS[kind].format(out=folder / f"{number}.json")
    client.send("PUT", f"/pipelines/by-name/p{number}", {"query": query, "settings": {"isolation": isolation}})
    pipeline: Any = client.get(f"/pipelines/p{number}")
    return Path(pipeline["state_dir"])


def jobs(client: Client, count: int) -> list[Mapping[str, Any]]:
    """The jobs of all."""
    answers: list[Any] = [client.get(f"/pipelines/p{number}/jobs") for number in range(count)]
    return [answer["data"][0] for answer in answers]


def states_of_jobs(client: Client) -> list[str]:
    """Where they stand; one request for all, since it is asked again and again."""
    answer: Any = client.get("/pipelines", {"limit": 1000})
    return [pipeline["state"] for pipeline in answer["data"]]


def gaps_of_epochs(state: Path, since: float) -> Iterator[float]:
    """The seconds from each commit to the next."""
    commits = StatePaths(state).checkpoint / "commits"
    times = sorted(at for entry in commits.iterdir() if entry.name.isdigit() and (at := entry.stat().st_mtime) >= since)
    yield from (after - before for before, after in pairwise(times))


def drivers(token: str) -> list[int]:
    """The processes of all drivers: what is marked, but for the control plane."""
    found = []
    for pid in marked(token):
        with suppress(OSError):
            environ = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            if any(each.startswith(processes.MARK.encode() + b"=") for each in environ):
                found.append(pid)
    return found


def used(token: str) -> Used:
    """What they have used, and hold."""
    cpu: dict[int, float] = {}
    kinds: dict[int, str] = {}
    megabytes: dict[str, float] = {}
    for pid in drivers(token):
        with suppress(OSError):
            fields = processes.stat_fields(Path(f"/proc/{pid}"))
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            pss = next(int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:"))
            cpu[pid] = sum(map(int, fields[11:15])) / _TICKS
            kinds[pid] = kind = _kind(pid)
            megabytes[kind] = megabytes.get(kind, 0.0) + pss
    return Used(cpu, kinds, megabytes)


def _kind(pid: int) -> str:
    if is_java(pid):
        return "java"
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    name = Path(f"/proc/{pid}/comm").read_text().strip()
    for word, kind in (
        (b"engine.driver.main", "drivers"),
        (b"engine.driver.forks", "drivers"),
        (b"engine.driver.shared.host", "host"),
    ):
        if word in words:
            return kind
    return name


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
