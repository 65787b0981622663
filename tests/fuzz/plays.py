"""One case: streams, queries over them, and a run with stops and restores, all of it from a seed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import duckdb

from engine.checkpoints.rescale import repartition
from engine.errors import EngineError, ScriptRefused
from engine.spark.run.lifecycle import RunSpec
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.values.epoch_report import EpochReport
from tests.fusing import IS_FUSED
from tests.fuzz.data import Stream, random_changes, random_stream, shown
from tests.fuzz.lookups import declaration
from tests.fuzz.oracle import Oracle, Row, comparable, difference
from tests.fuzz.own import own_functions
from tests.fuzz.promises import broken_promise, read_so_far, reported
from tests.fuzz.queries import Builder, Relation
from tests.fuzz.shapes import SHAPES, Shape
from tests.streams.play import kill_in_epoch, play, wider

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Case:
    """Streams and queries over them; `stops` says after which epochs the run is stopped, and how wide it goes on. One
    that is killed dies in its first epoch, when its rows are written and not yet committed."""

    seed: int
    streams: tuple[Stream, ...]
    queries: tuple[Relation, ...]
    stops: tuple[tuple[int, int], ...]
    is_killed: bool = False

    def script(self, folder: Path) -> str:
        """The whole as a user would write it."""
        text = "".join(stream.declaration(stream.write(folder)) for stream in self.streams)
        text += declaration(folder)
        for number, query in enumerate(self.queries):
            path = folder / f"out{number}.json"
            form = "debezium_json" if query.is_updating else "json"
            options = f"connector = 'single_file', path = '{path}', format = '{form}', type = 'sink'"
            options += ", 'json.decimal_encoding' = 'string'"
            text += f"CREATE TABLE out{number} WITH ({options});\n"
            text += f"INSERT INTO out{number} {query.query(for_engine=True)};\n"
        return text


def random_case(seed: int, *, queries: int = 3, shapes: Sequence[Shape] = SHAPES) -> Case:
    """The case of a seed, with queries of those shapes."""
    random = Random(seed)
    late = random.random() < 0.25
    streams = tuple(random_stream(random, name, late=late) for name in ("t1", "t2")[: random.choice([1, 2])])
    changes = random_changes(random)
    builder = Builder(random, [stream.name for stream in streams], late)
    relations = tuple(random.choice(shapes)(builder) for _ in range(random.randint(1, queries)))
    stops = []
    epoch, width = 0, 1
    while random.random() < 0.4 and epoch < 4:
        epoch += random.randint(1, 3)
        width = random.choice([width, width, 1, 2])
        stops.append((epoch, width))
    is_killed = not stops and random.random() < 0.02
    return Case(seed, (*streams, changes), relations, tuple(stops), is_killed)


def compile_little(spark: SparkSession, seed: int) -> None:
    """Three of four cases run without compiled code: over so few rows that is faster, and both ways must be right."""
    compiled = seed % 4 == 0
    spark.conf.set("spark.sql.codegen.wholeStage", str(compiled).lower())
    spark.conf.set("spark.sql.codegen.factoryMode", "FALLBACK" if compiled else "NO_CODEGEN")


def failures(spark: SparkSession, case: Case, folder: Path) -> list[str]:
    """What is wrong with the answers of a case; a case of several queries that fails as a whole is run one by one."""
    try:
        broken = run_case(spark, case, folder)
    except (EngineError, ScriptRefused) as error:
        if len(case.queries) > 1:
            alone = [replace(case, queries=(query,)) for query in case.queries]
            places = [folder / f"alone{number}" for number in range(len(alone))]
            differences = [
                text
                for lone_case, place in zip(alone, places, strict=True)
                for text in failures(spark, lone_case, place)
            ]
            return differences or [_report(case, case.queries[0], f"only together: {error}")]
        return [_report(case, case.queries[0], str(error))]
    oracle = Oracle(case.streams)
    differences = [_report(case, case.queries[number], wrong) for number, wrong in broken]
    for number, query in enumerate(case.queries):
        try:
            oracle_rows = oracle.answer(query.query(for_engine=False), query.columns)
        except duckdb.Error as error:
            differences.append(_report(case, query, f"the oracle has no answer: {error}"))
            continue
        engine_rows, fault = written_rows(folder / f"out{number}.json", query)
        wrong = fault or difference(engine_rows, oracle_rows)
        if wrong:
            differences.append(_report(case, query, wrong))
    oracle.close()
    return differences


def run_case(spark: SparkSession, case: Case, folder: Path) -> list[tuple[int, str]]:
    """Run to the end, through all stops; the promises that do not hold at those, by the number of their query."""
    folder.mkdir(parents=True, exist_ok=True)
    udfs = (own_functions(case.seed),)
    spec = RunSpec(
        f"fuzz{case.seed}",
        case.script(folder),
        folder / "state",
        udfs=udfs,
        settings=replace(PLAIN_SETTINGS, fuse=IS_FUSED),
    )
    # a third of the cases have Spark keep all windows
    spec = replace(spec, settings=replace(spec.settings, by_pane=case.seed % 3 != 0))
    # a run of the command line has none of our functions, and its first epoch may have no rows
    if case.is_killed and "own_" not in spec.sql and all(any(stream.steps[0].values()) for stream in case.streams):
        kill_in_epoch(spec, 0)
    broken: list[tuple[int, str]] = []
    for epoch, width in case.stops:
        outcome, reports = play(spark, spec, stop_after=epoch)
        if outcome == "finished":
            return broken
        broken += _broken_promises(case, folder, spec.state_dir, reports)
        if width != spec.parallelism:
            repartition(spec.state_dir, width, lambda: spark)
            spec = wider(spec, width)
    outcome, _ = play(spark, spec)
    assert outcome == "finished", outcome
    return broken


def _broken_promises(
    case: Case, folder: Path, state: Path, reports: Sequence[EpochReport]
) -> Iterator[tuple[int, str]]:
    """What does not hold of what the last epoch of a run has reported, now that the run was stopped after it."""
    if not reports:
        return
    streams = read_so_far(case.streams, state, reports[-1].epoch)
    for number, query in enumerate(case.queries):
        written, fault = written_rows(folder / f"out{number}.json", query)
        wrong = fault or broken_promise(query, written, streams, reported(reports, number))
        if wrong:
            yield number, f"after epoch {reports[-1].epoch}: {wrong}"


def with_a_stop(case: Case) -> Case:
    """The case with a stop if it has none, since promises are looked at where a run is stopped."""
    return case if case.stops else replace(case, stops=((case.seed % 3, 1),), is_killed=False)


def written_rows(path: Path, query: Relation) -> tuple[list[Row], str]:
    """The rows that a run has written, or what is wrong with its changes."""
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    if not query.is_updating:
        return [_row(line, query) for line in lines], ""
    table: Counter[Row] = Counter()
    for line in lines:
        before, after = (line[name] and _row(line[name], query) for name in ("before", "after"))
        if before is not None:
            if not table[before]:
                return [], f"{line['op']} takes back {before}, which is not there"
            table[before] -= 1
        if after is not None:
            table[after] += 1
    return list(table.elements()), ""


def _row(line: dict[str, object], query: Relation) -> Row:
    return comparable([line.get(name) for name in query.columns], query.columns)


def _report(case: Case, query: Relation, wrong: str) -> str:
    engine_sql, oracle_sql = query.query(for_engine=True), query.query(for_engine=False)
    read = [stream for stream in case.streams if f"FROM {stream.name}" in engine_sql]
    rows = "\n".join(f"-- rows of {stream.name}\n{shown(stream)}" for stream in read)
    return (
        f"seed {case.seed}, stops {case.stops}: {wrong}\n-- ours\n{engine_sql}\n-- the oracle's\n{oracle_sql}\n{rows}"
    )
