"""Decide which files an epoch publishes, and which it leaves open. Pure.

    before      open: day=1 [a], begun at 10:00                       rolling_policy.interval = '10 minutes'
    epoch 8     at 10:12, segments c of day=1 and d of day=2
    manifest    publishes day=1/0000000008-3f.json = a + c            open: day=2 [d], begun at 10:12

The result depends only on the previous state of the sink, the epoch's segments, one reading of the clocks, and random
bytes. See `docs/decisions/files-are-built-of-segments.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.connectors.files.names import Chance, Strategy, stem
from engine.delivery.epoch import Epoch
from engine.delivery.manifests import EpochManifest, PublishedFile
from engine.delivery.open_files import OpenFiles
from engine.delivery.rolling import Moment, OpenFile, RollingPolicy, TimeDirectory, grow, is_due
from engine.delivery.segments import Segment

MARKER = "_SUCCESS"


@dataclass(frozen=True, slots=True)
class Layout:
    """Layout of the files. `depth` is the number of innermost directories that are named by values instead of by time;
    `marks` says whether directories of time get a completion marker."""

    prefix: str
    suffix: str
    strategy: Strategy
    policy: RollingPolicy
    depth: int = 0
    marks: bool = False

    def folder(self, segment: Segment) -> TimeDirectory | None:
        """Return the time directory of a segment."""
        if not self.marks or segment.until is None:
            return None
        parts = segment.partition.split("/")
        return TimeDirectory("/".join(parts[: len(parts) - self.depth]), segment.until)


@dataclass(frozen=True, slots=True)
class Outside:
    """Inputs from outside of the pipeline: the time in microseconds, random bytes, and the directories that already
    have a completion marker."""

    now: int
    chance: Chance
    is_marked: Callable[[str], bool]


def plan(
    epoch: Epoch,
    before: OpenFiles,
    segments: Sequence[Segment],
    layout: Layout,
    outside: Outside,
) -> EpochManifest:
    """Return the manifest of an epoch."""
    moment = Moment(outside.now, epoch.watermark, epoch.is_last)
    files = grow(before.open, segments, outside.now, epoch.watermark_before)
    final = [file for file in files if is_due(file, layout.policy, moment)]
    open_files = tuple(file for file in files if file not in final)
    folders = _latest([*before.incomplete, *filter(None, map(layout.folder, segments))])
    complete = [folder for folder in folders if moment.has_passed(folder.until) and not _is_open(folder, open_files)]
    published = [_published(file, layout, stem(layout.strategy, epoch, outside.now, outside.chance)) for file in final]
    incomplete = tuple(folder for folder in folders if folder not in complete)
    return EpochManifest(
        epoch.lineage,
        epoch.number,
        epoch.offsets,
        epoch.generation,
        (*published, *_markers(complete, outside)),
        open_files,
        incomplete,
    )


def _markers(complete: Sequence[TimeDirectory], outside: Outside) -> list[PublishedFile]:
    """Return the empty files that mark complete directories."""
    names = (f"{folder.name}/{MARKER}" for folder in complete)
    return [PublishedFile(name, 0, ()) for name in names if not outside.is_marked(name)]


def _published(file: OpenFile, layout: Layout, stem: str) -> PublishedFile:
    folder = f"{file.partition}/" if file.partition else ""
    name = f"{folder}{layout.prefix}{stem}{layout.suffix}"
    return PublishedFile(name, file.rows, tuple(segment.path for segment in file.segments))


def _latest(folders: Sequence[TimeDirectory]) -> list[TimeDirectory]:
    """Return each directory once, with the latest end."""
    latest: dict[str, int] = {}
    for folder in folders:
        latest[folder.name] = max(folder.until, latest.get(folder.name, folder.until))
    return [TimeDirectory(name, until) for name, until in latest.items()]


def _is_open(folder: TimeDirectory, files: Sequence[OpenFile]) -> bool:
    return any(file.partition == folder.name or file.partition.startswith(f"{folder.name}/") for file in files)
