"""Read Spark's checkpoint without Spark: the newest epoch, the number of state partitions, the watermark."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from engine.checkpoints.layout import StatePaths, unreadable
from engine.checkpoints.lineage import read_lineage
from engine.errors import UnreadableStateError
from engine.values.instants import FAR_FUTURE, to_micros


def offsets_of_epoch(state: Path, lineage: str | None, epoch: int | None) -> Mapping[str, object] | None:
    """Return the position in each partition of each source table at the end of an epoch. None if the state directory no
    longer has it: it keeps the newest hundred epochs, of one lineage."""
    paths = StatePaths(state)
    if epoch is None:
        return None
    try:
        offsets = read_planned(paths.checkpoint, epoch).positions
        # asked last: a state that was swapped meanwhile has epochs of the same numbers
        return offsets if read_lineage(paths.lineage).id == lineage else None
    except (OSError, UnreadableStateError):
        return None


_PARTITIONS = "spark.sql.shuffle.partitions"
_STATE_IDS = "stateUniqueIds"


@dataclass(frozen=True, slots=True)
class PlannedEpoch:
    """A planned epoch in the offset log: a version line, a line about the epoch, a line per source."""

    version: str
    about: dict[str, object]
    sources: tuple[str, ...]

    @property
    def parallelism(self) -> int:
        """Return the number of partitions of the state."""
        conf = self.about.get("conf")
        value = conf.get(_PARTITIONS) if isinstance(conf, dict) else None
        return int(value) if isinstance(value, str) and value.isdigit() else 1

    @property
    def watermark(self) -> int | None:
        """Return Spark's watermark in this epoch, in microseconds; None if it has none yet. It is at most that of an
        input that has ended."""
        millis = self.about.get("batchWatermarkMs")
        return min(millis * 1000, to_micros(FAR_FUTURE)) if isinstance(millis, int) and millis else None

    @property
    def source_watermarks(self) -> tuple[int | None, ...]:
        """Return the watermark in the offset of each source."""
        return tuple(_watermark(line) for line in self.sources)

    @property
    def positions(self) -> dict[str, object]:
        """Return the position of each source table."""
        return {str(content["table"]): content.get("at") for content in self.contents if "table" in content}

    @property
    def contents(self) -> tuple[Mapping[str, object], ...]:
        """Return the offset content of each source; empty for one without an offset yet."""
        return tuple(_content(line) or {} for line in self.sources)

    def cut_into(self, parallelism: int) -> PlannedEpoch:
        """Return the epoch for a state with another parallelism."""
        conf = self.about.get("conf")
        changed = {**conf, _PARTITIONS: str(parallelism)} if isinstance(conf, dict) else conf
        return PlannedEpoch(self.version, {**self.about, "conf": changed}, self.sources)

    def text(self) -> str:
        """Return the entry of the offset log."""
        return "\n".join([self.version, json.dumps(self.about, separators=(",", ":")), *self.sources])


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """A committed epoch in the commit log: a version line, and a line about the epoch."""

    version: str
    about: Mapping[str, object]

    @property
    def state_ids(self) -> frozenset[str]:
        """Return the ids in the names of the epoch's state files; empty in the old format."""
        return frozenset(_texts(self.about.get(_STATE_IDS)))

    @property
    def state_ids_of(self) -> Mapping[int, object]:
        """Return the state ids of each operator as Spark assigned them: a list for each partition."""
        ids = self.about.get(_STATE_IDS)
        return {int(number): part for number, part in ids.items()} if isinstance(ids, dict) else {}

    def with_state_ids(self, ids: Mapping[int, object]) -> CommitRecord:
        """Return the record with the state ids of other operators."""
        return CommitRecord(self.version, {**self.about, _STATE_IDS: {str(number): ids[number] for number in ids}})

    def text(self) -> str:
        """Return the entry of the commit log."""
        return "\n".join([self.version, json.dumps(self.about, separators=(",", ":"))])


def newest_commit(checkpoint: Path) -> int | None:
    """Return the number of the newest committed epoch, None if there is none."""
    return max(numbers(checkpoint / "commits"), default=None)


def numbers(folder: Path) -> list[int]:
    """Return the epochs that a log has, in order."""
    try:
        return sorted(int(entry.name) for entry in folder.iterdir() if entry.name.isdigit())
    except FileNotFoundError:
        return []


def read_planned(checkpoint: Path, epoch: int) -> PlannedEpoch:
    """Return the offset log's entry of an epoch; raise an error if it is damaged."""
    path = checkpoint / "offsets" / str(epoch)
    lines = _lines(path)
    return PlannedEpoch(lines[0], _json(lines[1] if len(lines) > 1 else "", path), tuple(lines[2:]))


def read_committed(checkpoint: Path, epoch: int) -> CommitRecord:
    """Return the commit log's entry of an epoch; raise an error if it is damaged."""
    path = checkpoint / "commits" / str(epoch)
    lines = _lines(path)
    return CommitRecord(lines[0], _json(lines[1] if len(lines) > 1 else "", path))


def _lines(path: Path) -> list[str]:
    try:
        lines = path.read_text().splitlines()
    except UnicodeDecodeError as error:
        raise unreadable(path) from error
    if not lines or lines[0] not in {"v1", "v2"}:
        raise unreadable(path)
    return lines


def _json(text: str, path: Path) -> dict[str, object]:
    try:
        content = json.loads(text)
    except ValueError as error:
        raise unreadable(path) from error
    if not isinstance(content, dict):
        raise unreadable(path)
    return content


def _texts(value: object) -> list[str]:
    match value:
        case str():
            return [value]
        case list():
            return [text for item in value for text in _texts(item)]
        case dict():
            return [text for item in value.values() for text in _texts(item)]
    return []


def operators_of(checkpoint: Path) -> tuple[str, ...]:
    """Return Spark's names of the operators that keep state, in the order of their numbers."""
    folders = [folder for folder in (checkpoint / "state").glob("[0-9]*") if folder.name.isdigit()]
    names = [operator_name(folder) for folder in sorted(folders, key=lambda folder: int(folder.name))]
    return tuple(name for name in names if name is not None)


def operator_name(folder: Path) -> str | None:
    """Return Spark's name of the operator whose state is in a folder; None if it cannot be read."""
    with suppress(ValueError, KeyError, TypeError, OSError, IndexError):
        return str(json.loads(operator_metadata(folder).read_text().splitlines()[1])["operatorInfo"]["operatorName"])
    return None


def operator_metadata(folder: Path) -> Path:
    """Return the metadata file of the operator whose state is in a folder. Some operators have one for several epochs;
    the newest counts."""
    numbered = [path for path in (folder / "_metadata" / "v2").glob("*") if path.name.isdigit()]
    return max(numbered, key=lambda path: int(path.name), default=folder / "_metadata" / "metadata")


def _watermark(line: str) -> int | None:
    value = (_content(line) or {}).get("wm")
    return value if isinstance(value, int) else None


def _content(line: str) -> dict[str, object] | None:
    """Parse the offset content of a source."""
    try:
        content = json.loads(line)
        content = json.loads(content) if isinstance(content, str) else content
    except ValueError:
        return None
    return content if isinstance(content, dict) else None
