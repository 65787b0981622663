"""A segment that the driver cannot read is named; the target of the sink is not at fault."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engine.connectors.base import Epoch
from engine.connectors.files.joining import join_segments
from engine.connectors.staged import segment_rows
from engine.delivery.disk_errors import staging
from engine.errors import UnreadableSegmentError
from engine.formats.json.options import JsonOptions
from engine.formats.parquet import ParquetOptions
from tests.connectors.tables import NUMBERS, batch, epoch, sink, table

ROWS = batch(NUMBERS, (1, "a"), (2, "b"))


@pytest.mark.parametrize("kind", ["single_file", "stdout", "preview", "filesystem"])
def test_the_segment_is_named_and_not_the_target(kind: str, tmp_path: Path) -> None:
    target, directory = tmp_path / "target", tmp_path / "s" / "sinks" / "t"
    options = {"path": target, "type": "sink", "format": "json"} if kind in ("single_file", "filesystem") else {}
    of = sink(table(kind, NUMBERS, **options), directory)
    writer = of.open(epoch(0), 0)
    writer.write(ROWS)
    message = writer.close()
    shutil.rmtree(directory / "segments")  # as if it were on the disk of an executor

    with pytest.raises(UnreadableSegmentError) as refused:
        of.commit(epoch(0), [message])

    assert f"the segment {directory / 'segments'}" in refused.value.message
    assert str(target) not in refused.value.message
    assert refused.value.retryable


def test_a_staged_segment_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSegmentError, match=f"the segment {tmp_path / 'gone'}, which a task has written"):
        next(segment_rows(tmp_path / "gone", 10))


@pytest.mark.parametrize("form", [JsonOptions(), ParquetOptions()])
def test_a_segment_that_is_to_be_joined_and_gone_is_named(form: JsonOptions | ParquetOptions, tmp_path: Path) -> None:
    with pytest.raises(UnreadableSegmentError, match="gone"):
        join_segments(form, NUMBERS, [tmp_path / "gone", tmp_path / "other"], tmp_path / "draft")


def test_a_fault_of_a_segment_is_no_fault_of_the_directory_it_is_written_to(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSegmentError), staging(tmp_path, Epoch(1, "l", 1, "")):
        next(segment_rows(tmp_path / "gone", 10))
