"""What Spark's own checkpoint says, read without Spark: the newest epoch, the width of its state, its watermark."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from engine.checkpoints.layout import unreadable

_PARTITIONS = "spark.sql.shuffle.partitions"


@dataclass(frozen=True, slots=True)
class PlannedEpoch:
    """A planned epoch as the offset log has it: a version line, a line about the epoch, a line for each source."""

    version: str
    about: dict[str, object]
    sources: tuple[str, ...]

    @property
    def parallelism(self) -> int:
        """Into how many partitions the state is cut."""
        conf = self.about.get("conf")
        value = conf.get(_PARTITIONS) if isinstance(conf, dict) else None
        return int(value) if isinstance(value, str) and value.isdigit() else 1

    @property
    def watermark(self) -> int | None:
        """Spark's own watermark in this epoch, in microseconds; None when it has none yet."""
        millis = self.about.get("batchWatermarkMs")
        return millis * 1000 if isinstance(millis, int) and millis else None

    @property
    def source_watermarks(self) -> tuple[int | None, ...]:
        """The watermark that each source has put into its offset."""
        return tuple(_watermark(line) for line in self.sources)

    @property
    def positions(self) -> dict[str, object]:
        """How far each source table is read."""
        contents = [content for content in map(_content, self.sources) if content is not None and "table" in content]
        return {str(content["table"]): content.get("at") for content in contents}

    def cut_into(self, parallelism: int) -> PlannedEpoch:
        """The same epoch, for a state of another width."""
        conf = self.about.get("conf")
        changed = {**conf, _PARTITIONS: str(parallelism)} if isinstance(conf, dict) else conf
        return PlannedEpoch(self.version, {**self.about, "conf": changed}, self.sources)

    def text(self) -> str:
        """As the offset log has it."""
        return "\n".join([self.version, json.dumps(self.about, separators=(",", ":")), *self.sources])


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """A committed epoch as the commit log has it. `state_ids` has the ids in the names of the state files it made,
    all together for each operator; empty in the old format."""

    state_ids: frozenset[str]


def newest_commit(checkpoint: Path) -> int | None:
    """The number of the newest committed epoch, None when there is none."""
    return max(numbers(checkpoint / "commits"), default=None)


def numbers(folder: Path) -> list[int]:
    """The epochs that a log has, in order."""
    try:
        return sorted(int(entry.name) for entry in folder.iterdir() if entry.name.isdigit())
    except FileNotFoundError:
        return []


def read_planned(checkpoint: Path, epoch: int) -> PlannedEpoch:
    """The offset log's entry of an epoch; refused when it is damaged."""
    path = checkpoint / "offsets" / str(epoch)
    lines = _lines(path)
    return PlannedEpoch(lines[0], _json(lines[1] if len(lines) > 1 else "", path), tuple(lines[2:]))


def read_committed(checkpoint: Path, epoch: int) -> CommitRecord:
    """The commit log's entry of an epoch; refused when it is damaged."""
    path = checkpoint / "commits" / str(epoch)
    lines = _lines(path)
    content = _json(lines[1] if len(lines) > 1 else "", path)
    return CommitRecord(frozenset(_texts(content.get("stateUniqueIds"))))


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
    """The names of the operators that keep state, as Spark calls them, in the order of their numbers."""
    operators = []
    for path in (checkpoint / "state").glob("*/_metadata/metadata"):
        with suppress(ValueError, KeyError, TypeError, OSError, IndexError):
            about = json.loads(path.read_text().splitlines()[1])["operatorInfo"]
            operators.append((int(about["operatorId"]), str(about["operatorName"])))
    return tuple(name for _, name in sorted(operators))


def _watermark(line: str) -> int | None:
    value = (_content(line) or {}).get("wm")
    return value if isinstance(value, int) else None


def _content(line: str) -> dict[str, object] | None:
    """What a source has put into its offset."""
    try:
        content = json.loads(line)
        content = json.loads(content) if isinstance(content, str) else content
    except ValueError:
        return None
    return content if isinstance(content, dict) else None
