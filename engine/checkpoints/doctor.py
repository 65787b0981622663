"""Check a state directory for damage without starting Spark.

Restore test: restore a savepoint into a scratch directory, and read every row of its state.

    restore    every digest is compared, as in any restore, and the parts form a state directory
    examine    the plans, the commits and the files that they name are consistent
    read       Spark opens each store of each operator and decodes each row

A savepoint that passes can be restored. The pipeline is neither changed nor stopped.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.checkpoints import manifest, spark_log
from engine.checkpoints.layout import StatePaths, read_json, unreadable
from engine.checkpoints.lineage import read_lineage
from engine.checkpoints.manifest import damaged, has_state
from engine.checkpoints.restore import restore
from engine.checkpoints.state_files import state_files
from engine.errors import EngineError, StateBucketError, StateBucketUnavailableError, UnreadableStateError, message_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LACKS = ("OutOfMemoryError", "No space left on device", "Disk quota exceeded")
"""Java's error messages for a lack of memory, threads or disk on the machine."""
_LONGEST = 500
_SCHEMA_FILE = re.compile(r'"[^"]*/(state/[0-9]+/_stateSchema/[^"]+)"')


@dataclass(frozen=True, slots=True)
class DrillReport:
    """Result of a restore test: numbers of rows and operators."""

    rows: int
    operators: int


@dataclass(frozen=True, slots=True)
class StoreOfOperator:
    """A state store of an operator, with Spark's names; `variable` is its state variable, if it has several."""

    operator: int
    name: str
    store: str
    variable: str | None = None

    def options(self) -> dict[str, str]:
        """Return the options of Spark's state reader."""
        options = {"operatorId": str(self.operator), "storeName": self.store}
        return options if self.variable is None else {**options, "stateVarName": self.variable}


def drill(savepoint: Path, scratch: Path, open_spark: Callable[[], SparkSession]) -> DrillReport:
    """Restore a savepoint below `scratch`, which must be empty, and read all of its state; raise an error of damage if
    that fails. Spark is opened only if there is state."""
    paths = StatePaths(scratch / "state")
    restore(savepoint, paths.root, allow_replay=True)
    for finding in examine(paths):
        raise damaged(savepoint, f"{finding.path.relative_to(paths.root)} {finding.fault}")
    if not has_state(paths.checkpoint):
        return DrillReport(0, 0)
    return _read(savepoint, paths.checkpoint, open_spark())


def _read(savepoint: Path, checkpoint: Path, spark: SparkSession) -> DrillReport:
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - a drill without state needs no Spark
    from pyspark.errors import PySparkException  # noqa: PLC0415

    # Spark needs its state coordinator for this, which is only created when the queries are requested
    _ = spark.streams.active
    _say_where_schemas_are(checkpoint)
    rows, operators = 0, set[int]()
    at = "the list of its operators"
    try:
        for store in _stores(spark, checkpoint):
            at = f"the state of {store.name} (operator {store.operator}, {store.variable or store.store})"
            frame = spark.read.format("statestore").options(**store.options()).load(str(checkpoint))
            # a count alone would decode nothing
            rows += frame.selectExpr("count(struct(*)) AS n", "sum(hash(to_json(struct(*))))").collect()[0]["n"]
            operators.add(store.operator)
    except (PySparkException, Py4JJavaError) as error:
        if any(word in message_of(error) for word in _LACKS):
            raise  # it says nothing of the savepoint
        raise damaged(savepoint, f"{at} cannot be read: {_reason(error)}") from error
    return DrillReport(rows, len(operators))


def _stores(spark: SparkSession, checkpoint: Path) -> Iterator[StoreOfOperator]:
    for row in spark.read.format("state-metadata").load(str(checkpoint)).collect():
        variables = json.loads(row["operatorProperties"] or "{}").get("stateVariables") or []
        names = [variable["stateName"] for variable in variables if not variable["stateName"].startswith("$")]
        for variable in names or [None]:
            yield StoreOfOperator(row["operatorId"], row["operatorName"], row["stateStoreName"], variable)


def _say_where_schemas_are(checkpoint: Path) -> None:
    """Rewrite the paths of schema files in an operator's metadata to this checkpoint. Operators name the directory in
    which the files were written first, and Spark's reader of states, unlike a run, looks for them there."""
    for file in checkpoint.glob("state/*/_metadata/**/*"):
        if file.is_file() and not file.name.startswith("."):
            text = file.read_text()
            moved = _SCHEMA_FILE.sub(lambda path: f'"{checkpoint.absolute().as_uri()}/{path[1]}"', text)
            if moved != text:
                file.write_text(moved)
                file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def _reason(error: Exception) -> str:
    """Return the innermost cause in an error of the JVM, without its stack."""
    lines = [line.strip() for line in message_of(error).splitlines() if line.strip()]
    causes = [line.partition(": ")[2] for line in lines if line.startswith("Caused by: ") and len(line) < _LONGEST]
    return causes[-1] if causes else lines[0]


@dataclass(frozen=True, slots=True)
class DamagedFile:
    """A file that is missing or damaged; `fault` is a sentence about it."""

    path: Path
    fault: str

    def error(self) -> UnreadableStateError:
        """Return the finding as an error for the user."""
        return UnreadableStateError(f"{self.path} {self.fault}", hint=unreadable(self.path).hint)


def examine(paths: StatePaths) -> list[DamagedFile]:
    """Return every fault that would keep a run from continuing after the newest epoch; none for a sound or a new
    state."""
    findings = [*_parse(paths.pipeline, read_json), *_parse(paths.lineage, _lineage_if_any)]
    epoch = spark_log.newest_commit(paths.checkpoint)
    plans = spark_log.numbers(paths.checkpoint / "offsets")
    if epoch is None and not plans:
        return findings
    if not paths.pipeline.exists():
        findings.append(DamagedFile(paths.pipeline, "is missing, so the query of the state is unknown"))
    if not paths.lineage.exists():
        findings.append(DamagedFile(paths.lineage, "is missing, so sinks cannot tell whether they have taken an epoch"))
    return findings + list(_spark_faults(paths.checkpoint, epoch, plans))


def _spark_faults(checkpoint: Path, epoch: int | None, plans: list[int]) -> Iterator[DamagedFile]:
    yield from _parse(checkpoint / "metadata", _query_id)
    for plan in plans[-2:]:
        yield from _parse(
            checkpoint / "offsets" / str(plan), lambda path: spark_log.read_planned(checkpoint, int(path.name))
        )
    if epoch is None:
        return
    yield from _parse(checkpoint / "commits" / str(epoch), lambda _: spark_log.read_committed(checkpoint, epoch))
    try:
        files = state_files(checkpoint)
        needed, sizes = list(manifest.files_of(checkpoint, epoch, files)), files.sizes()
    except (StateBucketError, StateBucketUnavailableError):
        raise
    except (zipfile.BadZipFile, KeyError, IndexError, json.JSONDecodeError, EngineError):
        yield DamagedFile(checkpoint / "state", "holds a snapshot that cannot be read")
        return
    for file in needed:
        path = checkpoint / file
        if file not in sizes if file.parts[0] == "state" else not path.exists():
            yield DamagedFile(path, "is missing")
        elif sizes.get(file) == 0 and path.suffix in {".zip", ".changelog", ".sst"}:
            yield DamagedFile(path, "is empty")


def _parse(path: Path, reader: Callable[[Path], object]) -> Iterator[DamagedFile]:
    try:
        reader(path)
    except FileNotFoundError:
        yield DamagedFile(path, "is missing")
    except EngineError:
        yield DamagedFile(path, "is damaged")


def _lineage_if_any(path: Path) -> object:
    return read_lineage(path) if path.exists() else None


def _query_id(path: Path) -> object:
    if not path.exists():
        raise FileNotFoundError(path)
    content = read_json(path)
    if content is None or "id" not in content:
        raise unreadable(path)
    return content
