"""Find damage in a state or a savepoint: `arroyo state verify` and `arroyo state doctor`.

Every file is read that a run would need to continue after the newest committed epoch, or a restore would need of a
savepoint. It is compared with everything that constrains it: checksums, digests, and other files. See
docs/decisions/damage-is-found-by-comparing.md for what cannot be detected.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from engine.checkpoints import manifest as contents
from engine.checkpoints import spark_log
from engine.checkpoints.forms import read_form, read_forms, read_panes
from engine.checkpoints.late_batches import read_withheld
from engine.checkpoints.layout import StatePaths, read_json, read_text
from engine.checkpoints.lineage import read_lineage
from engine.checkpoints.manifest import NAME, SavedFile, SavepointManifest, read_manifest
from engine.checkpoints.savepoints import committed_watermark
from engine.checkpoints.state_mirror import with_local_state
from engine.checkpoints.swap import is_swapping
from engine.checkpoints.whole_state import files_of_partitions, ids_of_partitions, missing_versions
from engine.errors import EngineError
from engine.inspection.attempts import Damage, Kind, attempt, has_sums, with_sums
from engine.inspection.bytes_read import NotAsWrittenError
from engine.inspection.epochs import is_savepoint
from engine.inspection.find_in_sinks import sink_damage
from engine.inspection.retry_reads import ATTEMPTS, history_of
from engine.inspection.state_files import read_changes, read_table
from engine.inspection.store import read_snapshot, read_store


def find_damage(directory: Path, *, reads_rows: bool = False) -> list[Damage]:
    """Return all damage of a state directory or a savepoint; none for a sound one. A run may be active: files in
    progress are checked again. With `reads_rows` every row of the state is read, too, even if the checksums of its
    files match. Nothing is changed."""
    if is_savepoint(directory):
        damages = savepoint_damage(directory)
        return damages or list(row_damage(StatePaths(directory).checkpoint) if reads_rows else ())
    paths = StatePaths(directory)
    damages = []
    for _ in range(ATTEMPTS):
        before = _moment(paths)
        with with_local_state(directory) as local:
            found = _look(StatePaths(local), reads_rows=reads_rows)
        earlier, damages = damages, [_as_of(damage, local, directory) for damage in found]
        if not damages or before == _moment(paths):
            return damages
    return [damage for damage in damages if damage in earlier]


def _as_of(damage: Damage, local: Path, directory: Path) -> Damage:
    """Return damage that was found in a copy as that of the state directory."""
    if local == directory or not damage.path.is_relative_to(local):
        return damage
    return replace(damage, path=directory / damage.path.relative_to(local))


def _moment(paths: StatePaths) -> tuple[object, ...]:
    """Return values that differ once a run has progressed."""
    plans = spark_log.numbers(paths.checkpoint / "offsets")
    return history_of(paths), spark_log.newest_commit(paths.checkpoint), plans[-1:], is_swapping(paths)


def _look(paths: StatePaths, *, reads_rows: bool) -> list[Damage]:
    if is_swapping(paths):
        return [Damage(Kind.SWAP, paths.root / "incoming", "is the state that was to take the place of this one")]
    # ledgers first: a sink takes an epoch when its plan is there
    damages = [*sink_damage(paths), *state_file_damage(paths), *checkpoint_damage(paths.checkpoint)]
    return damages or list(row_damage(paths.checkpoint) if reads_rows else ())


def state_file_damage(paths: StatePaths) -> Iterator[Damage]:
    """Yield the damage of a state's own records, and of the readers' notes."""
    has_begun = bool(spark_log.numbers(paths.checkpoint / "offsets"))
    for kind, path, read in (
        (Kind.QUERY, paths.pipeline, _query),
        (Kind.LINEAGE, paths.lineage, read_lineage),
        (Kind.GENERATION, paths.generation, _generation),
        (Kind.OWNER, paths.owner, _owner),
    ):
        # directories of earlier versions have no owner, and directories without a run are empty
        if path.exists() or (has_begun and path != paths.owner):
            yield from attempt(kind, path, read)
    yield from note_damage(paths.watermarks)
    yield from _width_damage(paths)


def note_damage(folder: Path) -> Iterator[Damage]:
    """Yield the damage of readers' notes, which have no checksums."""
    for path in sorted(folder.rglob("*.json")) if folder.is_dir() else ():
        yield from attempt(Kind.NOTE, path, _note)


def _query(path: Path) -> None:
    match read_json(path):
        case None:
            raise FileNotFoundError(2, "missing", str(path))
        case {"name": str(), "sql": str(), "fingerprint": str(), "parallelism": int()}:
            return
    raise NotAsWrittenError("does not say which query the state is of")


def _generation(path: Path) -> None:
    if not read_text(path).isdigit():
        raise NotAsWrittenError("is no number")


def _owner(path: Path) -> None:
    content = read_json(path)
    if content is None or not isinstance(content.get("owner"), str):
        raise NotAsWrittenError("names no owner")


def _note(path: Path) -> None:
    if not isinstance(json.loads(path.read_bytes()), dict):
        raise NotAsWrittenError("is no note")


def _width_damage(paths: StatePaths) -> Iterator[Damage]:
    """Yield damage if the recorded parallelism of a state is not that of its newest epoch."""
    epoch = spark_log.newest_commit(paths.checkpoint)
    if epoch is None or not (paths.checkpoint / "state").is_dir():
        return
    try:
        recorded = (read_json(paths.pipeline) or {}).get("parallelism")
        width = spark_log.read_planned(paths.checkpoint, epoch).parallelism
    except (OSError, EngineError):
        return  # that is found elsewhere
    if isinstance(recorded, int) and recorded != width:
        yield Damage(Kind.WIDTH, paths.pipeline, f"says {recorded} parts, and the state has {width}")


def savepoint_damage(savepoint: Path) -> list[Damage]:
    """Return the damage of a savepoint; every byte is read."""
    manifests: list[SavepointManifest] = []

    def read(path: Path) -> None:
        if not path.exists():
            raise FileNotFoundError(2, "missing", str(path))
        manifests.append(read_manifest(savepoint))

    path = savepoint / NAME
    damages = list(attempt(Kind.SAVEPOINT, path, read))
    for manifest in manifests:
        for file in manifest.files:
            damages += attempt(Kind.SAVEPOINT_FILE, savepoint / file.path, lambda path, file=file: _compare(path, file))  # type: ignore[misc]
        if not damages:
            damages += attempt(Kind.SAVEPOINT, path, lambda _: _check_sayings(savepoint, manifest))  # noqa: B023
        if not damages:
            damages += checkpoint_damage(StatePaths(savepoint).checkpoint)
    return damages


def _compare(path: Path, file: SavedFile) -> None:
    digest, length = hashlib.sha256(), 0
    with path.open("rb") as content:
        while chunk := content.read(1 << 20):
            digest.update(chunk)
            length += len(chunk)
    if length != file.bytes or digest.hexdigest() != file.sha256:
        raise NotAsWrittenError("has changed")


def _check_sayings(savepoint: Path, manifest: SavepointManifest) -> None:
    """Check that the manifest matches the files of the savepoint, and names all necessary ones."""
    paths = StatePaths(savepoint)
    if savepoint.absolute().parent.name == "savepoints" and manifest.id != savepoint.name:
        raise NotAsWrittenError(f"is that of another savepoint, {manifest.id}")
    if manifest.epoch != spark_log.newest_commit(paths.checkpoint):
        raise NotAsWrittenError(f"says epoch {manifest.epoch}, and its files are of another one")
    planned = spark_log.read_planned(paths.checkpoint, manifest.epoch)
    lineage, recorded = read_lineage(paths.lineage), read_json(paths.pipeline) or {}
    says = {
        "lineage": (manifest.lineage, lineage.id),
        "parents": (manifest.parents, lineage.parents),
        "parallelism": (manifest.parallelism, planned.parallelism),
        "fingerprint": (manifest.fingerprint, str(recorded.get("fingerprint", ""))),
        "watermark": (manifest.watermark, committed_watermark(paths.checkpoint, manifest.epoch)),
        "sql": (manifest.sql, manifest.sql and recorded.get("sql")),
        "offsets": (manifest.offsets, manifest.offsets and planned.positions),
    }
    for name, (said, is_so) in says.items():
        if said != is_so:
            raise NotAsWrittenError(f"says another {name} than its files do")
    named = {file.path for file in manifest.files}
    unnamed = next(_needed(paths, manifest.epoch, named), None)
    if unnamed is not None:
        raise NotAsWrittenError(f"does not name {unnamed}, which is needed")


def _needed(paths: StatePaths, epoch: int, named: set[str]) -> Iterator[Path]:
    for file in contents.files_of(paths.checkpoint, epoch):
        path = Path(paths.checkpoint.name) / file
        if str(path) not in named:
            yield path


def checkpoint_damage(checkpoint: Path) -> Iterator[Damage]:
    """Yield the damage of the newest committed epoch, and of the epoch planned after it."""
    epoch = spark_log.newest_commit(checkpoint)
    plans = spark_log.numbers(checkpoint / "offsets")
    if epoch is None and not plans:
        return
    yield from attempt(Kind.IDENTITY, checkpoint / "metadata", with_sums(_identity))
    yield from _plan_damage(checkpoint, epoch, plans)
    if epoch is None:
        return
    for number in (epoch - 1, epoch):
        if number >= 0:
            yield from attempt(Kind.COMMIT, checkpoint / "commits" / str(number), with_sums(_commit))
    if (checkpoint / contents.WITHHELD).exists():
        yield from attempt(Kind.WITHHELD, checkpoint / contents.WITHHELD, lambda _: read_withheld(checkpoint))
    if (checkpoint / contents.FORMS).exists():
        yield from attempt(Kind.FORMS, checkpoint / contents.FORMS, lambda _: read_forms(checkpoint))
    if (checkpoint / contents.PANES).exists():
        yield from attempt(Kind.PANES, checkpoint / contents.PANES, lambda _: read_panes(checkpoint))
    yield from _source_damage(checkpoint)
    yield from _state_damage(checkpoint, epoch)


def _identity(path: Path) -> None:
    content = read_json(path)
    if content is None:
        raise FileNotFoundError(2, "missing", str(path))
    if not isinstance(content.get("id"), str):
        raise NotAsWrittenError("has no id")


def _plan_damage(checkpoint: Path, epoch: int | None, plans: list[int]) -> Iterator[Damage]:
    folder = checkpoint / "offsets"
    if epoch is not None and epoch not in plans:
        yield Damage(Kind.PLAN_LOST, folder / str(epoch), "is missing, though its epoch is committed")
    begun = [number for number in plans if epoch is None or number > epoch]
    if len(begun) > 1:
        numbers = ", ".join(map(str, begun))
        yield Damage(Kind.COMMITS_LOST, checkpoint / "commits", f"has none of the epochs {numbers}, which are planned")
    sources: int | None = None
    if epoch and epoch - 1 not in plans:
        yield Damage(Kind.PLAN, folder / str(epoch - 1), "is missing, from which its epoch goes on")
    for number in sorted({*plans[-2:], *({epoch - 1, epoch} & set(plans) if epoch is not None else ())}):
        read, yields = _plan_reader(checkpoint, sources)
        yield from attempt(Kind.PLAN, folder / str(number), with_sums(read))
        sources = yields[0] if yields else sources
    yield from _layout_damage(checkpoint, epoch, begun)


def _plan_reader(checkpoint: Path, sources: int | None) -> tuple[Callable[[Path], None], list[int]]:
    """Return a reader of plans that records their numbers of sources; each plan must have as many as the one before."""
    noted: list[int] = []

    def read(path: Path) -> None:
        planned = spark_log.read_planned(checkpoint, int(path.name))
        for line in planned.sources:
            if line != "-":
                json.loads(line)
        if not planned.sources or (sources is not None and len(planned.sources) != sources):
            raise NotAsWrittenError("ends too early")
        noted.append(len(planned.sources))

    return read, noted


def _layout_damage(checkpoint: Path, epoch: int | None, begun: list[int]) -> Iterator[Damage]:
    """Yield a planned epoch of another width than the committed one: Spark goes on with nothing else than to finish
    that."""
    try:
        widths = {
            number: spark_log.read_planned(checkpoint, number).parallelism
            for number in (epoch, *begun[-1:])
            if number is not None
        }
    except Exception:  # noqa: BLE001 - that is found elsewhere
        return
    if (checkpoint / "state").is_dir() and len(set(widths.values())) > 1:
        path = checkpoint / "offsets" / str(begun[-1])
        yield Damage(Kind.LAYOUT, path, f"plans {widths[begun[-1]]} parts for a state that has {widths[epoch or 0]}")


def _commit(path: Path) -> None:
    ids_of_partitions(spark_log.read_committed(path.parents[1], int(path.name)))


def _source_damage(checkpoint: Path) -> Iterator[Damage]:
    for path in sorted((checkpoint / "sources").rglob("*")):
        if path.is_file() and not path.name.startswith("."):
            yield from attempt(Kind.SOURCE_LOG, path, with_sums(_not_empty))


def _not_empty(path: Path) -> None:
    if not path.read_bytes().strip():
        raise NotAsWrittenError("is empty")


def _state_damage(checkpoint: Path, epoch: int) -> Iterator[Damage]:
    files: list[Path] = []

    def list_files(_: Path) -> None:
        for partition, version, id_ in missing_versions(checkpoint, epoch):
            name = f"version {version} of it" + (f", by the id {id_}" if id_ else "")
            lost.append(Damage(Kind.STATE_LOST, checkpoint / partition.folder, f"has no file for {name}"))
        for partition, own in files_of_partitions(checkpoint, epoch).items():
            has_families = (checkpoint / partition.folder.parent / "_metadata" / "v2").is_dir()
            if has_families and not any(path.suffix == ".zip" for path in own):
                fault = "has no snapshot, which says how its keys are told apart"
                lost.append(Damage(Kind.STATE_LOST, checkpoint / partition.folder, fault))
        files.extend(contents.files_of(checkpoint, epoch))

    lost: list[Damage] = []
    listed = list(attempt(Kind.STATE_FILE, checkpoint / "state", list_files))
    if listed:
        # which snapshot cannot be listed is found by reading all of them
        files = [path.relative_to(checkpoint) for path in sorted((checkpoint / "state").rglob("[0-9]*.*"))]
        files = [path for path in files if not path.name.endswith((".crc", ".tmp"))]
    yield from lost
    named = [damage for file in files if file.parts[0] == "state" for damage in _file_damage(checkpoint / file)]
    yield from named or listed
    for folder in sorted(path for path in (checkpoint / "state").glob("*") if path.name.isdigit()):
        yield from attempt(Kind.OPERATOR, folder, partial(_form, checkpoint))


def _form(checkpoint: Path, folder: Path) -> None:
    if not any(read_form(checkpoint, int(folder.name)).schemas.values()):
        raise NotAsWrittenError("has no schema of what is kept in it")


def row_damage(checkpoint: Path) -> Iterator[Damage]:
    """Yield the damage of the newest committed epoch's rows; every row is read."""
    epoch = spark_log.newest_commit(checkpoint)
    if epoch is not None:
        for partition, files in files_of_partitions(checkpoint, epoch).items():
            yield from attempt(Kind.STATE_FILE, checkpoint / partition.folder, partial(_count, checkpoint, files))


def _count(checkpoint: Path, files: Sequence[Path], _: Path) -> int:
    return read_store(checkpoint / file for file in files).rows


def _file_damage(path: Path) -> Iterator[Damage]:
    kind = Kind.STATE_FILE if path.suffix in _READERS else Kind.OPERATOR
    yield from attempt(kind, path, _read_unless_summed)


def _read_unless_summed(path: Path) -> None:
    """Parse a file unless its checksums match, since then it is as Spark has written it."""
    if not has_sums(path):
        _READERS.get(path.suffix, _not_empty)(path)


def _drain(read: Callable[[Path], Iterator[object]]) -> Callable[[Path], None]:
    def drained(path: Path) -> None:
        for _ in read(path):
            pass

    return drained


_READERS: dict[str, Callable[[Path], object]] = {
    ".zip": read_snapshot,
    ".sst": _drain(read_table),
    ".changelog": _drain(read_changes),
}
