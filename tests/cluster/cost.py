"""CPU of a tumbling count on a cluster and in `local[2]`: `python -m tests.cluster.cost`.

    few epochs, few rows       start and end
    many epochs, few rows      more by what an epoch costs
    few epochs, many rows      more by what a row costs

The CPU is that of the driver, its JVM and Python, and of the executors: not of the master, the workers or the store.
`--parallelism 16` has so many slices and shards, which share two cores.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.cluster.parts import Cluster, running
from tests.cluster.play import run
from tests.cluster.stores import new_bucket, serving

_SQL = """
CREATE TABLE numbers WITH (connector = 'impulse', event_rate = 10000000, message_count = {rows},
  event_time_interval = '10 milliseconds', start_time = '2024-01-01T00:00:00Z');
CREATE TABLE lines (k BIGINT, n BIGINT)
WITH (connector = 'single_file', path = '{folder}/out.json', format = 'json', type = 'sink');
INSERT INTO lines SELECT k, n FROM (
  SELECT tumble(INTERVAL '1 minute') AS w, counter % 100 AS k, count(*) AS n FROM numbers GROUP BY w, k
);
"""
_FEW, _MANY, _FEW_ROWS, _MANY_ROWS = 5, 40, 100_000, 4_000_000


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.cost", description=__doc__)
    parser.add_argument("--parallelism", type=int, default=2)
    width = parser.parse_args().parallelism
    root = Path(tempfile.mkdtemp(prefix="cost-"))
    with serving("moto", root / "store") as url, running(root / "cluster") as cluster:
        store = new_bucket(url, "cost")
        environment = {**store.environment, "ARROYO_NET_ALLOW": "127.0.0.1"}
        print(f"{'':22} {'start, s':>10} {'epoch, ms':>10} {'1,000 rows, ms':>15}")  # noqa: T201 - it is the result
        for name, where in (("local[2]", None), ("cluster", cluster)):
            asked = {"parallelism": width}
            asked |= {} if where is None else {"state_url": f"{store.url}/jobs", "max_cores": 2}
            cpu = {
                (epochs, rows): _cpu(root / f"{name}-{epochs}-{rows}", where, epochs, rows, environment, asked)
                for epochs, rows in ((_FEW, _FEW_ROWS), (_MANY, _FEW_ROWS), (_FEW, _MANY_ROWS))
            }
            for part, whose in enumerate(("driver", "executors") if where else ("driver",)):
                base = cpu[_FEW, _FEW_ROWS][part]
                epoch = (cpu[_MANY, _FEW_ROWS][part] - base) / (_MANY - _FEW)
                row = (cpu[_FEW, _MANY_ROWS][part] - base) / (_MANY_ROWS - _FEW_ROWS)
                figures = f"{base - _FEW * epoch:10.1f} {1000 * epoch:10.0f} {1_000_000 * row:15.2f}"
                print(f"{name:12} {whose:9} {figures}", flush=True)  # noqa: T201
    return 0


def _cpu(
    folder: Path,
    cluster: Cluster | None,
    epochs: int,
    rows: int,
    environment: Mapping[str, str],
    asked: Mapping[str, object],
) -> tuple[float, float]:
    """Return the seconds of CPU that a run takes: of the driver, and of executors."""
    folder.mkdir()
    script = folder / "q.sql"
    script.write_text(_SQL.format(folder=folder, rows=rows))
    before = _seconds(cluster)
    limits = {"environment": environment, "max_epoch_rows": -(-rows // epochs)}
    status, said = run(script, folder / "state", cluster, **limits, **asked)
    assert status == 0, said
    after = _seconds(cluster)
    return after[0] - before[0], after[1] - before[1]


def _seconds(cluster: Cluster | None) -> tuple[float, float]:
    """Return the CPU of all processes that have ended below this one, and of all below the workers."""
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = 0.0
    ticks = os.sysconf("SC_CLK_TCK")
    sessions = {worker.process.pid for worker in cluster.workers} if cluster is not None else set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        if int(words[3]) in sessions:
            total += (int(words[13]) + int(words[14])) / ticks  # its children that have ended
            if int(stat.parent.name) not in sessions:
                total += (int(words[11]) + int(words[12])) / ticks  # executors may end later than their run
    return own.ru_utime + own.ru_stime, total


if __name__ == "__main__":
    sys.exit(main())
