"""Check a state directory for damage without starting Spark."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.checkpoints import contents, spark_log
from engine.checkpoints.layout import StatePaths, read_json, unreadable
from engine.checkpoints.lineage import read_lineage
from engine.checkpoints.state_files import state_files
from engine.errors import EngineError, StateBucketError, StateBucketUnavailableError, UnreadableStateError


@dataclass(frozen=True, slots=True)
class DamagedFile:
    """A file that is missing or damaged; `fault` is a sentence about it."""

    path: Path
    fault: str

    def error(self) -> UnreadableStateError:
        """The finding as an error for the user."""
        return UnreadableStateError(f"{self.path} {self.fault}", hint=unreadable(self.path).hint)


def examine(paths: StatePaths) -> list[DamagedFile]:
    """Every fault that would keep a run from going on with the newest epoch; none for a sound or a new state."""
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
        needed, sizes = list(contents.files_of(checkpoint, epoch, files)), files.sizes()
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
