"""`make bench-nexmark`: Nexmark's queries through the engine and its peers, by turns.

Each peer is a process that stays up. A query is first played over a few events, and its answer compared with DuckDB's;
then once over all to warm up, and then in rounds, each peer in turn. What counts first are the CPU seconds of all
processes of a peer, since they say something on a machine with other work, too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from benchmarks.nexmark.answers import fault, small_events
from benchmarks.nexmark.archives import archives
from benchmarks.nexmark.environment import flink_python
from benchmarks.nexmark.events import HALVES, Events, Layout
from benchmarks.nexmark.measured import OURS, PEERS, Play, Result, describe_machine, geometric_mean
from benchmarks.nexmark.queries import NINE, QUERIES, queries_of
from benchmarks.nexmark.queries.base import Dialect, Query
from benchmarks.nexmark.topics import fill
from benchmarks.nexmark.turns import JARS, Played, Topics, Turn
from benchmarks.process_tree import ProcessTree
from benchmarks.sides import Side
from tests.kafka.broker import Broker, running

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache"
MUST, MUST_WORST = 0.60, 0.90
"""CPU of ours by that of PySpark by hand: geometric mean and worst of the nine queries."""


@dataclass(frozen=True)
class Peer:
    """A process that plays turns, and what it and all below it use."""

    side: Side
    tree: ProcessTree

    @staticmethod
    def start(name: str, log: Path, source: str) -> Peer:
        """The peer's process, which is to read such input. One that cannot run ends the benchmark, loudly."""
        python = flink_python(CACHE) if name == "flink" else None
        environment = {JARS: ",".join(map(str, archives(name, source)))}
        side = Side.start("benchmarks.nexmark.peers", name, python=python, log=log, environment=environment)
        return Peer(side, ProcessTree(side.process.pid))

    def play(self, turn: Turn) -> tuple[Played, Play]:
        """One turn, and what it took."""
        self.tree.peak_megabytes = 0.0
        before = self.tree.cpu_by_kind()
        with self.tree.watched():
            played = Played(**json.loads(self.side.ask(turn.to_line())))
            self.tree.weigh()
        by_kind = {kind: seconds - before.get(kind, 0.0) for kind, seconds in self.tree.cpu_by_kind().items()}
        used = {kind: seconds for kind, seconds in by_kind.items() if seconds > 0}
        figures = (sum(by_kind.values()), played.seconds, self.tree.peak_megabytes, played.epochs)
        return played, Play(*figures, used, played.phases)


@dataclass
class Benchmark:
    """Whose times are wanted, the processes that are up, and what they have shown so far."""

    names: Sequence[str]
    peers: Mapping[str, Peer]
    events: Events
    layout: Layout
    rounds: int
    broker: Broker | None = None
    """What the events are read from, instead of files."""
    plays: dict[str, dict[str, list[Play]]] = field(default_factory=dict)
    refused: dict[str, dict[str, str]] = field(default_factory=dict)
    _topics: dict[Path, Topics] = field(default_factory=dict)

    @property
    def input(self) -> str:
        """As what the events lie where."""
        return "kafka" if self.broker is not None else self.layout

    def play(self, query: Query) -> None:
        """Check the answers of a query, then let the peers that are right play it by turns."""
        expected = self._small(query, "duckdb").rows or []
        rightful = []
        for name in self.names:
            left_out = query.left_out_of(_module(name))
            wrong = left_out.reason if left_out else self._fault(query, name, expected)
            if wrong:
                self.refused.setdefault(query.name, {})[name] = wrong
                print(f"{query.name:4} {name}: {wrong}", flush=True)
            else:
                rightful.append(name)
        rounds = [{name: self._once(query, name) for name in rightful} for _ in range(self.rounds + 1)][1:]
        self.plays[query.name] = {name: [plays[name] for plays in rounds] for name in rightful}

    def _fault(self, query: Query, name: str, expected: Sequence[Sequence[object]]) -> str:
        played = self._small(query, name)
        if played.error:
            return played.error
        return fault(query, name, played.rows or [], expected, self._few)

    @property
    def _few(self) -> Events:
        return small_events(self.events.folder)

    def _small(self, query: Query, name: str) -> Played:
        return self.peers[_module(name)].play(self._turn(self._few, query, name, shows=True))[0]

    def _once(self, query: Query, name: str) -> Play:
        played, play = self.peers[_module(name)].play(self._turn(self.events, query, name))
        if played.error:
            raise SystemExit(f"{query.name}, {name}: {played.error}")
        print(f"{query.name:4} {name:7} {play.cpu:7.2f} CPU s {play.wall:7.2f} s {play.megabytes:6.0f} MB", flush=True)
        return play

    def _turn(self, events: Events, query: Query, name: str, *, shows: bool = False) -> Turn:
        layout = HALVES[self.layout] if name == "flink" and self.broker is None else self.layout
        topics = None if name == "duckdb" else self._topics_of(events)
        return events.turn(query.name, query.tables, layout=layout, topics=topics, shows=shows, fuse=name == "fused")

    def _topics_of(self, events: Events) -> Topics | None:
        if self.broker is None:
            return None
        folder = events.made("json")
        if folder not in self._topics:
            self._topics[folder] = fill(self.broker, folder)
        return self._topics[folder]


def main(arguments: Sequence[str]) -> int:
    """Play, print, and write the results after each query; the exit code says whether ours is within the goal."""
    options = _options(arguments)
    cache = CACHE / "bench"
    events = Events(cache, options.events, options.epochs)
    names = [name for name in PEERS if name in options.peers]
    began, commit = datetime.now(UTC), _commit()
    logs = Path(tempfile.mkdtemp(prefix="nexmark-logs-"))
    with ExitStack() as opened:
        broker = None
        if options.input == "kafka":
            broker = opened.enter_context(running(Path(opened.enter_context(tempfile.TemporaryDirectory()))))
        peers: dict[str, Peer] = {}
        for module in dict.fromkeys(map(_module, [*names, "duckdb"])):
            peers[module] = Peer.start(module, logs / f"{module}.log", options.input)
            opened.callback(peers[module].side.end)
        layout: Layout = "parquet" if options.input == "parquet" else "json"
        benchmark = Benchmark(names, peers, events, layout, options.rounds, broker)
        for query in options.queries:
            benchmark.play(QUERIES[query])
            result = _result(benchmark, began, commit)
            result.save(ROOT / "benchmarks" / "results" / f"nexmark-{began:%Y-%m-%d-%H%M}.json")
    return _show(result, names)


def _module(name: str) -> Dialect:
    """The process that plays for a peer: ours is the same with `fuse` off and on."""
    return "ours" if name in OURS else cast("Dialect", name)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks.nexmark", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--queries", type=queries_of, default=NINE, help="names with commas, or `all`; by default the nine"
    )
    parser.add_argument("--events", type=int, default=3_000_000, help="how many")
    parser.add_argument("--epochs", type=int, default=12, help="into how many files and epochs they are divided")
    parser.add_argument("--rounds", type=int, default=2, help="plays of each after the one to warm up")
    parser.add_argument(
        "--input", choices=("json", "parquet", "kafka"), default="json", help="files of JSON or Parquet, or topics"
    )
    parser.add_argument("--peers", type=_peers, default=["spark"], help="of spark, flink and duckdb, with commas")
    parser.add_argument("--fuse", choices=("on", "off", "both"), default="both", help="how ours runs")
    options = parser.parse_args(arguments)
    options.peers += {"on": ["fused"], "off": ["ours"], "both": OURS}[options.fuse]
    return options


def _peers(text: str) -> list[str]:
    names = [name for name in text.split(",") if name]
    if unknown := set(names) - {"spark", "flink", "duckdb"}:
        raise argparse.ArgumentTypeError(f"no peer {', '.join(unknown)}")
    return names


def _commit() -> str:
    """What is checked out; asked before the peers start, since it may change under a long run."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()


def _result(benchmark: Benchmark, began: datetime, commit: str) -> Result:
    events = benchmark.events
    return Result(
        date=began.date().isoformat(),
        commit=commit,
        machine=describe_machine(),
        load=os.getloadavg(),
        events=events.count,
        epochs=events.epochs,
        rounds=benchmark.rounds,
        layout=benchmark.input,
        plays=benchmark.plays,
        refused=benchmark.refused,
        rows={name: events.rows(QUERIES[name].tables) for name in benchmark.plays},
    )


def _show(result: Result, names: Sequence[str]) -> int:
    """Print a line per query; the exit code."""
    sides = [name for name in OURS if name in names]
    print(f"\n{result.events:,} events, {result.epochs} epochs; CPU seconds, those of {' and '.join(sides)} by them")
    for query in result.plays:
        print(f"{query:4}" + "".join(_figure(result, query, name, sides) for name in names))
    met = [_show_musts(result, side) for side in sides]
    return 0 if met[-1] else 1


def _figure(result: Result, query: str, name: str, sides: Sequence[str]) -> str:
    cpu, ratios = result.cpu(query, name), [result.ratio(query, side, name) for side in sides]
    told = [f"{ratio:.2f}" for ratio in ratios if ratio]
    return f"  {name} {cpu:.2f} ({', '.join(told)})" if cpu and told else ""


def _show_musts(result: Result, side: str) -> bool:
    """Print how far a side of ours is within its musts; whether it is. The last one, if both play, is the default."""
    ratios = [ratio for query in result.plays if (ratio := result.ratio(query, side, "spark"))]
    if not ratios:
        return True
    mean, worst = geometric_mean(ratios), max(ratios)
    print(f"{side} of PySpark by hand: geometric mean {mean:.2f}, must be {MUST}; worst {worst:.2f}, {MUST_WORST}")
    return mean <= MUST and worst <= MUST_WORST


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
