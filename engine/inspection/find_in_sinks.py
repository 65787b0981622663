"""Find damage in the sinks' own files: ledgers, and open files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from engine.checkpoints import spark_log
from engine.checkpoints.layout import StatePaths, read_text
from engine.checkpoints.lineage import Lineage, read_lineage
from engine.checkpoints.running_query import compile_running, query_of_state
from engine.compile import Program
from engine.delivery.file_ledger import newest_ledger, read_ledger
from engine.delivery.ledger import LedgerEntry
from engine.delivery.manifests import EpochManifest, find_manifest
from engine.delivery.segments import Segment
from engine.errors import EngineError
from engine.inspection.attempts import Damage, Kind, attempt
from engine.inspection.bytes_read import NotAsWrittenError


def tables_written(program: Program) -> Mapping[str, str]:
    """Return the sinks by what ends the names of their directories."""
    names = sorted({*(write.table for write in program.writes), *program.dead_letter_tables})
    return {hashlib.sha256(name.lower().encode()).hexdigest()[:8]: name for name in names}


def is_written(state: Path, directory: str) -> bool | None:
    """Whether the query of a state writes to the sink with this directory; None where its script does not say it."""
    try:
        program = compile_running(query_of_state(state))
    except EngineError:
        return None
    return directory.rpartition("_")[2] in tables_written(program)


def sink_damage(paths: StatePaths) -> Iterator[Damage]:
    """Yield the damage of each sink in what the next run needs."""
    for directory in sorted(paths.sinks.iterdir()) if paths.sinks.is_dir() else ():
        if (directory / "ledger").is_dir():
            yield from _ledger_damage(paths, directory)


def _ledger_damage(paths: StatePaths, directory: Path) -> Iterator[Damage]:
    entries: list[LedgerEntry] = []

    def read(path: Path) -> None:
        entries.extend(read_ledger(directory))
        if not entries:
            raise FileNotFoundError(2, "missing", str(path))
        for entry in entries:
            _check_entry(entry)

    before = spark_log.newest_commit(paths.checkpoint)
    path = newest_ledger(directory) or directory / "ledger"
    if path.is_dir() and before is None:
        return
    damages = list(attempt(Kind.LEDGER, path, read))
    yield from damages
    if damages or not entries:
        return
    try:
        lineage = read_lineage(paths.lineage)
    except EngineError:
        return  # that is found elsewhere
    yield from _history_damage(paths, path, entries, lineage)
    yield from _range_damage(paths, path, entries, lineage)
    yield from _open_file_damage(directory, entries[-1], lineage)


def _check_entry(entry: LedgerEntry) -> None:
    texts, numbers = (entry.lineage, entry.offsets), (entry.epoch, entry.generation, entry.rows, entry.refused)
    if not all(isinstance(text, str) for text in texts) or not all(isinstance(number, int) for number in numbers):
        raise NotAsWrittenError("has an entry that makes no sense")


def _history_damage(paths: StatePaths, path: Path, entries: list[LedgerEntry], lineage: Lineage) -> Iterator[Damage]:
    newest = entries[-1]
    histories = {lineage.id, *(name for name, _ in lineage.parents)}
    if not any(entry.lineage in histories for entry in entries):
        if is_written(paths.root, path.parents[1].name) is False:
            return  # left behind by a query that was changed or taken back
        yield Damage(Kind.LEDGER_FOREIGN, path, f"is of the history {newest.lineage}")
        return
    if any(later.lineage == one.lineage and later.epoch <= one.epoch for one, later in pairwise(entries)):
        yield Damage(Kind.LEDGER, path, "has epochs that do not follow each other")
    plans = spark_log.numbers(paths.checkpoint / "offsets")
    if newest.lineage == lineage.id and plans and newest.epoch > plans[-1]:
        yield Damage(Kind.LEDGER_AHEAD, path, f"has epoch {newest.epoch}, and the newest planned one is {plans[-1]}")
    try:
        generation = int(read_text(paths.generation))
    except (EngineError, ValueError):
        return  # that is found elsewhere
    if newest.generation > generation:
        fault = f"says {generation}, and run {newest.generation} has written to {path.parents[1].name}"
        yield Damage(Kind.GENERATION, paths.generation, fault)


def _range_damage(paths: StatePaths, path: Path, entries: list[LedgerEntry], lineage: Lineage) -> Iterator[Damage]:
    """Yield damage if the digest of an epoch's input in the ledger does not match the plan. An epoch of the same number
    in a later lineage has none to compare with."""
    for entry in entries[-3:]:
        plan = paths.checkpoint / "offsets" / str(entry.epoch)
        if entry.lineage == lineage.id and plan.is_file() and _range(plan) != entry.offsets:
            yield Damage(Kind.RANGE, plan, f"has another range of the input than {path} says")


def _range(plan: Path) -> str:
    """Return the digest that `spark/read/offset_log.py` makes, of the lines of the sources."""
    lines = plan.read_bytes().decode(errors="replace").splitlines()[2:]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _open_file_damage(directory: Path, newest: LedgerEntry, lineage: Lineage) -> Iterator[Damage]:
    folder = directory / "manifests"
    if not folder.is_dir() or newest.lineage != lineage.id:
        return  # what was restored brings its own
    manifests: list[EpochManifest] = []

    def read(path: Path) -> None:
        manifest = find_manifest(directory, newest.lineage, newest.epoch)
        if manifest is None:
            raise FileNotFoundError(2, "missing", str(path))
        if (manifest.lineage, manifest.epoch, manifest.offsets) != (newest.lineage, newest.epoch, newest.offsets):
            raise NotAsWrittenError("is of another epoch than its name and the ledger say")
        manifests.append(manifest)

    yield from attempt(Kind.MANIFEST, folder / f"{newest.epoch:012d}-{newest.lineage}.json", read)
    for manifest in manifests:
        for file in manifest.open:
            for segment in file.segments:
                yield from segment_damage(directory / segment.path, segment)


def segment_damage(path: Path, segment: Segment) -> Iterator[Damage]:
    """Yield the damage of a segment, by its digest."""

    def read(path: Path) -> None:
        content = path.read_bytes()
        if len(content) != segment.bytes or hashlib.sha256(content).hexdigest() != segment.sha256:
            raise NotAsWrittenError("has changed")

    yield from attempt(Kind.SEGMENT, path, read)
