"""What it costs to come to the first committed epoch, and to the end, of a script over a thousand rows.

`python -m benchmarks.startup [ROUNDS [KIND ...]]` plays kinds of starts by turns: `cold` is `arroyo run`, `quick` that
with the setting, `warm` the run after one with `--warm`, `hand` the same by hand and spark-submit, `spare` a deployment
on a control plane that keeps a spare driver, `served` on one that keeps none. For each it prints the CPU seconds of all
its processes up to some moments that can be told from outside, by kind of process; CPU seconds are about the same on a
busy machine and on a quiet one, seconds are not.
"""

from __future__ import annotations

import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.served import MARK, end_all, ended_by_signals
from benchmarks.served_start import ANSWERED, RUNNING, play_served
from benchmarks.start_meter import Meter, Moment

SQL = """
CREATE TABLE bids (auction BIGINT, bidder BIGINT, price BIGINT) WITH (
  connector = 'single_file', path = '{folder}/bids.json', format = 'json', type = 'source'
);
CREATE TABLE nowhere WITH (connector = 'blackhole');
INSERT INTO nowhere SELECT auction, price FROM bids WHERE auction % 2 = 0;
"""
BY_HAND = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
bids = spark.readStream.schema("auction long, bidder long, price long").json("{folder}/in")
query = bids.where("auction % 2 = 0").select("auction", "price").writeStream.format("noop")
query = query.option("checkpointLocation", "{folder}/state/checkpoint").start()
query.processAllAvailable()
query.stop()
spark.stop()
"""
KINDS = ("cold", "quick", "warm", "hand", "spare", "served")
_LOOK = 0.01
_PATIENCE = 300.0
MOMENTS: Mapping[str, str] = {
    "Java is started": "logs/spark.log",
    "the query begins": "checkpoint/metadata",
    "epoch 0 is planned": "checkpoint/offsets/0",
    "epoch 0 is committed": "checkpoint/commits/0",
}
"""Files in the state's directory by which moments are told."""
END = "the command has ended"


def follow(command: Sequence[str], state: Path, meter: Meter, environment: Mapping[str, str]) -> Mapping[str, Moment]:
    """Play a command, and look at it from outside until it has ended. All begin in one directory, as a spare wants."""
    meter.look()
    before = meter.used()
    begin, moments = time.monotonic(), dict[str, Moment]()
    with (state.parent / "output").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment, cwd=tempfile.gettempdir())
    while process.poll() is None:
        meter.look()
        for name, file in MOMENTS.items():
            if name not in moments and (state / file).exists():
                moments[name] = meter.moment(time.monotonic() - begin, before)
        time.sleep(_LOOK)
        if time.monotonic() - begin > _PATIENCE:
            process.kill()
    if process.returncode:
        raise SystemExit((state.parent / "output").read_text())
    return {**moments, END: meter.moment(time.monotonic() - begin, before)}


def play(kind: str, scratch: Path) -> Mapping[str, Moment]:
    """One start of a kind, of which nothing is left when it is interrupted."""
    meter = Meter(secrets.token_hex(8))
    try:
        return _play(kind, scratch, meter)
    except BaseException:
        end_all(meter.mark)
        raise


def _play(kind: str, scratch: Path, meter: Meter) -> Mapping[str, Moment]:
    environment = {**os.environ, MARK: meter.mark, "PYSPARK_PYTHON": sys.executable}
    folder = scratch / meter.mark
    folder.mkdir()
    _write(folder)
    run = [sys.executable, "-m", "engine", "run", f"{folder}/q.sql", "--state-dir", f"{folder}/state"]
    match kind:
        case "spare" | "served":
            return _play_served(folder, meter, spares=1 if kind == "spare" else 0)
        case "quick":
            return follow([*run, "--set", "quick=true"], folder / "state", meter, environment)
        case "warm":
            return _play_warm(run, folder, meter, environment)
        case "hand":
            submit = Path(_spark_home()) / "bin" / "spark-submit"
            return follow([str(submit), "--master", "local[1]", f"{folder}/q.py"], folder / "state", meter, environment)
    return follow(run, folder / "state", meter, environment)


def _play_served(folder: Path, meter: Meter, spares: int) -> Mapping[str, Moment]:
    """A deployment on a control plane that has been up for a while."""
    return play_served((folder / "q.sql").read_text(), folder / "data", meter, spares, MOMENTS)


def _play_warm(run: Sequence[str], folder: Path, meter: Meter, environment: Mapping[str, str]) -> Mapping[str, Moment]:
    """The second of two runs, once the spare that the first has left is warm."""
    spares = folder / "spares"
    (spares / "cache").mkdir(parents=True)
    cache = Path(os.environ.get("ARROYO_CACHE") or Path(os.environ["HOME"]) / ".cache" / "arroyo")
    (spares / "cache" / "classes").symlink_to(cache / "classes")
    warm = {**environment, "ARROYO_CACHE": str(spares / "cache")}
    first = [*run[:-1], str(spares / "state"), "--warm"]
    follow(first, spares / "state", meter, warm)
    directory = spares / "cache" / "spare"
    _until(lambda: any(directory.glob("*/warm-up/state/checkpoint/commits/0")))
    _until(lambda: not any(directory.glob("*/warm-up")))
    try:
        return follow([*run, "--warm"], folder / "state", meter, warm)
    finally:
        _until((directory / "token").exists)
        (directory / "token").unlink()


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise SystemExit("no spare was left")
        time.sleep(_LOOK)


def _write(folder: Path) -> None:
    lines = "".join(f'{{"auction": {n}, "bidder": {n % 7}, "price": {n * 3}}}\n' for n in range(1000))
    (folder / "in").mkdir()
    (folder / "in" / "bids.json").write_text(lines)
    (folder / "bids.json").write_text(lines)
    (folder / "q.sql").write_text(SQL.format(folder=folder))
    (folder / "q.py").write_text(BY_HAND.format(folder=folder))


def _spark_home() -> str:
    from pyspark.find_spark_home import _find_spark_home  # noqa: PLC0415

    return str(_find_spark_home())


def _last(start: Mapping[str, Moment]) -> Moment:
    return start.get(END) or start[RUNNING]


def table(kind: str, starts: Sequence[Mapping[str, Moment]]) -> Iterator[str]:
    """Medians of some starts of a kind, a line for each moment that all have come to."""
    kinds = sorted({name for start in starts for name in _last(start).cpu})
    heads = "".join(f"{name:>10}" for name in kinds)
    yield f"{kind:<22}{'seconds':>9}{'CPU':>9}{heads}"
    for name in (ANSWERED, *MOMENTS, RUNNING, END):
        if all(name in start for start in starts):
            seen = [start[name] for start in starts]
            parts = "".join(
                f"{statistics.median(moment.cpu.get(part, 0.0) for moment in seen):>10.2f}" for part in kinds
            )
            seconds = statistics.median(moment.seconds for moment in seen)
            yield f"{name:<22}{seconds:>9.2f}{statistics.median(moment.total for moment in seen):>9.2f}{parts}"
    counts = _last(starts[-1]).processes
    yield "processes that worked: " + ", ".join(f"{counts[name]} {name}" for name in kinds)


def main(rounds: int, kinds: Sequence[str]) -> int:
    """Print the tables."""
    starts: dict[str, list[Mapping[str, Moment]]] = {kind: [] for kind in kinds}
    with ended_by_signals(), tempfile.TemporaryDirectory(prefix="startup-") as scratch:
        play("cold", Path(scratch))  # not counted: the first Java leaves an archive of classes for all others
        for _ in range(rounds):
            for kind in kinds:
                starts[kind].append(play(kind, Path(scratch)))
                end = _last(starts[kind][-1])
                print(f"{kind:<8}{end.seconds:8.2f} s {end.total:8.2f} CPU s", flush=True)
    for kind in kinds:
        print("", *table(kind, starts[kind]), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 3, sys.argv[2:] or KINDS))
