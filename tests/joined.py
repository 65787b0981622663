"""Short scripts played as one pipeline and compared one by one: planning, generated code and checkpoint are paid once.

    a       CREATE TABLE events ...;  CREATE TABLE out ... '/a.json';         INSERT INTO out SELECT key FROM events;
    b       CREATE TABLE events ...;  CREATE TABLE out ... '/b.json';         INSERT INTO out SELECT at FROM events;

    joined  CREATE TABLE events ...;  CREATE TABLE "out of a" ... '/a.json';  INSERT INTO "out of a" SELECT key ...;
                                      CREATE TABLE "out of b" ... '/b.json';  INSERT INTO "out of b" SELECT at ...;

What scripts declare in the same words is declared once; a table that a script only writes gets a name of its own.
Scripts that mean different things by a name, or are run differently, go into different pipelines. Only what a run of
pytest plays is joined, so `-k` with the name of a case plays it alone. When a pipeline fails, its scripts are played
alone, so that each test tells what is wrong with its own script.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.compile import compile_script
from engine.errors import EngineError
from engine.plan.nodes import Branch
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.stop_control import Control
from engine.sql.text.dialect import Arroyo
from engine.sql.text.pieces import declared_name, pieces_of
from engine.udf.reading import read_udfs
from tests.fusing import IS_FUSED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST = 1 if IS_FUSED else 12
"""Scripts in a pipeline: with more, the single one costs hardly less. Of a table that many read, sources leave nothing
out."""


def played(request: pytest.FixtureRequest, function: Callable[..., None]) -> set[str]:
    """The names of the cases with which this run of pytest plays a test function."""
    tests = [test for test in request.session.items if isinstance(test, pytest.Function)]
    return {test.callspec.id for test in tests if test.function is function}


def run_to_end(spark: SparkSession, spec: RunSpec) -> None:
    assert run_in(spark, spec, Control()) == "finished"


@dataclass(frozen=True)
class Script:
    """A run taken apart: its statements, and what is said of each name. Tables that it only writes are left out."""

    spec: RunSpec
    statements: Mapping[tuple[object, ...], str]
    meanings: Mapping[str, object]

    @classmethod
    def of(cls, name: str, spec: RunSpec) -> Script:
        try:
            shape = _shape(spec)
        except EngineError:  # which its own test is to tell
            return cls(spec, {(name,): spec.sql}, {_WHOLE: [name]})
        pieces = list(pieces_of(Arroyo().tokenize(spec.sql)))
        mentions = Counter(token.text for piece in pieces for token in piece)
        heads = Counter(piece[2].text for piece in pieces if piece[1].text.upper() in ("TABLE", "INTO"))
        written = {piece[2].text for piece in pieces if piece[1].text.upper() == "INTO"}
        sinks = {table for table in written if mentions[table] == heads[table]}
        meanings: defaultdict[str, list[object]] = defaultdict(list)
        meanings[_WHOLE] += [replace(spec, name="", sql="", state_dir=Path(), udfs=()), *shape]
        for file in spec.udfs:
            for udf in (file.name, *read_udfs([file]).by_name):
                meanings[udf].append(file)
        statements: dict[tuple[object, ...], str] = {}
        for number, piece in enumerate(pieces):
            start, target, end = piece[0].start, piece[2], piece[-1].end + 1
            if target.text in sinks:
                renamed = f'"{target.text} of {name}"'
                statements[name, number] = spec.sql[start : target.start] + renamed + spec.sql[target.end + 1 : end]
            else:
                subject = declared_name(piece) or (target.text if target.text in written else _WHOLE)
                words = tuple(token.text for token in piece)
                meanings[subject.lower()].append(words)
                statements[words] = spec.sql[start:end]
        return cls(spec, statements, meanings)


_WHOLE = "the whole pipeline"
"""What settings, and statements such as SET, are about."""


def _shape(spec: RunSpec) -> tuple[object, ...]:
    """What scripts must have in common to be cheaper together: the tables that they read, since each is a process of
    Spark's, whether windows close, and whether rows go from the stream into sinks as they are, and not through Spark's
    cache, of which every sink reads the whole."""
    program = compile_script(spec.sql, udfs=spec.udfs)
    parts = program.parts
    is_plain = all(isinstance(write.input, Branch) for write in parts.writes)
    return frozenset(program.scans), parts.closes_windows, is_plain


class Joined:
    """Scripts by name, each made for the folder that it writes to, and played when that is first asked for."""

    def __init__(
        self, scripts: Mapping[str, Callable[[Path], RunSpec]], play: Callable[[RunSpec], None], folder: Path
    ) -> None:
        self.scripts, self.play, self.folder = scripts, play, folder
        self.pipelines: list[dict[str, Script]] = []
        self.results: dict[str, Path | Exception] = {}
        for name in sorted(scripts):
            script = Script.of(name, self._make(name, "joined"))
            pipeline = next((those for those in self.pipelines if _fits(script, those.values())), None)
            if pipeline is None:
                self.pipelines.append(pipeline := {})
            pipeline[name] = script

    def folder_of(self, name: str) -> Path:
        """Where the script has written. Raises what its run has raised."""
        if name not in self.results:
            self._play(next(pipeline for pipeline in self.pipelines if name in pipeline))
        result = self.results[name]
        if isinstance(result, Exception):
            raise result
        return result

    def _play(self, pipeline: Mapping[str, Script]) -> None:
        try:
            self.play(_joined(list(pipeline.values())))
        except Exception as error:  # noqa: BLE001 - whatever it is, the test of the script raises it
            alone = {name: self._alone(name) if len(pipeline) > 1 else error for name in pipeline}
            if not any(isinstance(result, Exception) for result in alone.values()):
                error.add_note(f"only when played together: {', '.join(pipeline)}")
                alone = dict.fromkeys(pipeline, error)
            self.results.update(alone)
        else:
            self.results.update({name: self.folder / "joined" / name for name in pipeline})

    def _alone(self, name: str) -> Path | Exception:
        try:
            self.play(self._make(name, "alone"))
        except Exception as error:  # noqa: BLE001 - the same
            return error
        return self.folder / "alone" / name

    def _make(self, name: str, way: str) -> RunSpec:
        folder = self.folder / way / name
        folder.mkdir(parents=True)
        return self.scripts[name](folder)


def _fits(script: Script, others: Collection[Script]) -> bool:
    """Whether there is room for the script, and no other says something else of one of its names."""
    shared = [
        (script.meanings[name], other.meanings[name])
        for other in others
        for name in script.meanings
        if name in other.meanings
    ]
    return len(others) < MOST and all(meaning == other for meaning, other in shared)


def _joined(scripts: Sequence[Script]) -> RunSpec:
    statements = {key: text for script in scripts for key, text in script.statements.items()}
    udfs = dict.fromkeys(file for script in scripts for file in script.spec.udfs)
    return replace(scripts[0].spec, sql=";\n".join(statements.values()), udfs=tuple(udfs))
