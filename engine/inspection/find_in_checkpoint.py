"""Find damage in Spark's checkpoint, as far as a run needs it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from engine.checkpoints import contents, spark_log
from engine.checkpoints.forms import read_forms
from engine.checkpoints.layout import read_json
from engine.checkpoints.operator_form import read_form
from engine.checkpoints.panes import read_panes
from engine.checkpoints.state_partitions import files_of_partitions, ids_of_partitions, missing_versions
from engine.checkpoints.withheld import read_withheld
from engine.inspection.attempts import attempt, with_sums
from engine.inspection.bytes_read import NotAsWrittenError
from engine.inspection.changelog import read_changes
from engine.inspection.damage import Damage, Kind
from engine.inspection.store import read_snapshot, read_store
from engine.inspection.sums import has_sums
from engine.inspection.table import read_table


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
    """Reads a plan, and notes how many sources it has, which has to be as many as the one before had."""
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
    """A planned epoch of another width than the committed one: Spark goes on with nothing else than to finish that."""
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
    """A file that is what its sums say is as Spark has written it; any other is taken apart."""
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
