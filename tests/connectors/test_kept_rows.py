"""What the sink of a rehearsal leaves for the comparison."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from engine.connectors.base import Epoch, SinkContext
from engine.connectors.rehearsal import KeptRows, rows_directory


def test_an_epoch_without_a_row_leaves_nothing_that_could_be_read(tmp_path: Path) -> None:
    sink = KeptRows(SinkContext(tmp_path))

    sink.commit(Epoch(1, "a", 1, "x"), [])
    assert not rows_directory(tmp_path).exists()

    second = Epoch(2, "a", 1, "y")
    writer = sink.open(second, 0)
    writer.write(pa.RecordBatch.from_pydict({"n": [7]}))
    sink.commit(second, [writer.close()])
    assert pq.read_table(rows_directory(tmp_path)).to_pylist() == [{"c0": 7, "w": 1}]
