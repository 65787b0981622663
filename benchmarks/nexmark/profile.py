"""`python -m benchmarks.nexmark.profile`: what the CPU of the engine goes to in each query, by stage.

Each query is played twice in a process that stays up, and the second play is looked at: Python by `py-spy`, which is
installed for it, Java by its own flight recorder and by the CPU of its threads. Shares are of samples, a hundred a
second, so a point says nothing; seconds are the CPU of the processes.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.nexmark.environment import py_spy
from benchmarks.nexmark.events import Events
from benchmarks.nexmark.queries import NINE, QUERIES, queries_of
from benchmarks.nexmark.stages import COLLECTOR, COMPILERS, ELSE, STAGES, of_java, of_python, of_thread
from benchmarks.process_tree import ProcessTree
from benchmarks.sides import Side

CACHE = Path(__file__).parents[2] / ".cache"
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Samples:
    """What was seen of one play: samples by stage, of Python and of Java, and CPU seconds of Java's own threads."""

    python: Counter[str] = field(default_factory=Counter)
    java: Counter[str] = field(default_factory=Counter)
    threads: dict[str, float] = field(default_factory=dict)

    def seconds(self, by_kind: Mapping[str, float]) -> Mapping[str, float]:
        """CPU seconds by stage: those of the processes, divided as the samples are."""
        of_java = by_kind.get("java", 0.0) - sum(self.threads.values())
        of_python = sum(by_kind.values()) - by_kind.get("java", 0.0)
        found = defaultdict(float, self.threads)
        for samples, seconds in ((self.java, of_java), (self.python, of_python)):
            for stage, count in samples.items():
                found[stage] += seconds * count / samples.total()
        return found


def main(arguments: Sequence[str]) -> int:
    """Print a table of shares, a line for each query."""
    parser = argparse.ArgumentParser("python -m benchmarks.nexmark.profile", description=__doc__.partition("\n")[0])
    parser.add_argument("--queries", type=queries_of, default=NINE, help="names with commas, or `all`")
    parser.add_argument("--events", type=int, default=3_000_000)
    parser.add_argument("--epochs", type=int, default=12)
    options = parser.parse_args(arguments)
    events = Events(CACHE / "bench", options.events, options.epochs)
    spy = py_spy(CACHE)
    stages = (*STAGES, COMPILERS, COLLECTOR, ELSE)
    print(f"| query | CPU s | {' | '.join(stages)} |\n|{' --- |' * (len(stages) + 2)}")
    with tempfile.TemporaryDirectory(prefix="profile-") as text:
        side = Side.start("benchmarks.nexmark.peers", "ours", log=Path(text) / "log")
        tree = ProcessTree(side.process.pid)
        for name in options.queries:
            turn = events.turn(name, QUERIES[name].tables, fuse=True)
            side.ask(turn.to_line())
            before, samples = tree.cpu_by_kind(), Samples()
            with tree.watched(), _sampled(tree, spy, Path(text), samples):
                side.ask(turn.to_line())
                by_kind = {kind: seconds - before.get(kind, 0.0) for kind, seconds in tree.cpu_by_kind().items()}
            found = samples.seconds(by_kind)
            whole = sum(found.values())
            shares = (f"{found.get(stage, 0.0) / whole:.0%}".replace("%", " %") for stage in stages)
            print(f"| {name} | {whole:.1f} | {' | '.join(shares)} |", flush=True)
        side.end()
    return 0


@contextmanager
def _sampled(tree: ProcessTree, spy: Path, folder: Path, samples: Samples) -> Iterator[None]:
    """Look at all processes until the block ends."""
    (java,) = (number for number in tree.numbers() if _name(Path(f"/proc/{number}")) == "java")
    recorded, stacks = folder / "java.jfr", folder / "python.txt"
    for path in (recorded, stacks):
        path.unlink(missing_ok=True)
    _tool("jcmd", str(java), "JFR.start", "name=profile", "settings=profile")
    command = [str(spy), "record", "--pid", str(tree.root), "--subprocesses", "--rate", "100", "--nonblocking"]
    command += ["--format", "raw", "--output", str(stacks), "--duration", "unlimited"]
    before = _threads(java)
    with (folder / "spy.log").open("w") as log:
        looking = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            yield
        finally:
            looking.send_signal(signal.SIGINT)
            looking.wait(60)
    samples.threads.update({stage: seconds - before.get(stage, 0.0) for stage, seconds in _threads(java).items()})
    _tool("jcmd", str(java), "JFR.stop", "name=profile", f"filename={recorded}")
    samples.python.update(_of_python(stacks))
    samples.java.update(_of_java(recorded))


def _of_python(path: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    for line in path.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        stage = of_python(stack.split(";")[::-1])
        if stage is not None:
            found[stage] += int(count)
    return found


def _of_java(path: Path) -> Counter[str]:
    events = ("jdk.ExecutionSample", "jdk.NativeMethodSample")
    text = _tool("jfr", "print", "--json", "--stack-depth", "64", "--events", ",".join(events), str(path))
    found: Counter[str] = Counter()
    for event in json.loads(text)["recording"]["events"]:
        trace = event["values"]["stackTrace"]
        frames = [_frame(frame) for frame in trace["frames"]] if trace else []
        # of native code only RocksDB's is work: a thread that waits for a socket looks the same
        if event["type"] == events[0] or (frames and "rocksdb" in frames[0]):
            found[of_java(frames)] += 1
    return found


def _frame(frame: Mapping[str, Mapping[str, Mapping[str, str]]]) -> str:
    method = frame["method"]
    return f"{method['type']['name'].replace('/', '.')}.{method['name']}"


def _threads(java: int) -> Mapping[str, float]:
    """CPU seconds so far of the threads that no stacks are seen of, by stage."""
    found: defaultdict[str, float] = defaultdict(float)
    for task in Path(f"/proc/{java}/task").iterdir():
        try:
            stage = of_thread(_name(task))
            if stage is not None:
                fields = (task / "stat").read_text().rpartition(")")[2].split()
                found[stage] += (int(fields[11]) + int(fields[12])) / _TICKS
        except OSError:
            continue  # it has ended
    return found


def _name(process: Path) -> str:
    try:
        return (process / "comm").read_text().strip()
    except OSError:
        return ""


def _tool(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
