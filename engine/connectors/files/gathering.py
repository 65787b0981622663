"""Merge many small segments of an open file into one before the epoch is decided."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from engine.delivery.durable import sync_file
from engine.delivery.epoch import Epoch
from engine.delivery.manifests import EpochManifest
from engine.delivery.rolling import OpenFile, runs_of_small_segments
from engine.delivery.segments import Segment, oldest_of, segment_path

Join = Callable[[Sequence[str], Path], None]
"""Function that builds one file from segments, which are named relative to the sink's directory."""

_TASK = 99_999
"""Task number of merged segments: no task has it, because the driver writes them."""


def gather(planned: EpochManifest, directory: Path, epoch: Epoch, join: Join) -> EpochManifest:
    """Return the manifest with each group of small segments replaced by one segment with the same rows."""
    return replace(planned, open=tuple(_thinned(file, directory, epoch, join) for file in planned.open))


def _thinned(file: OpenFile, directory: Path, epoch: Epoch, join: Join) -> OpenFile:
    segments = list(file.segments)
    for start, end in reversed(runs_of_small_segments(file)):
        segments[start:end] = [_joined(segments[start:end], directory, epoch, join)]
    return replace(file, segments=tuple(segments))


def _joined(crowd: Sequence[Segment], directory: Path, epoch: Epoch, join: Join) -> Segment:
    path = segment_path(directory, epoch, _TASK, ".gathered")
    join([segment.path for segment in crowd], path)
    sync_file(path)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return replace(
        crowd[0],
        path=str(path.relative_to(directory)),
        rows=sum(segment.rows for segment in crowd),
        bytes=path.stat().st_size,
        sha256=digest,
        until=max((segment.until for segment in crowd if segment.until is not None), default=None),
        oldest=oldest_of(crowd),
        level=crowd[0].level + 1,
    )
