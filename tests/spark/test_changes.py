"""Changes of rows on their way from a source to every kind of sink, over several epochs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.connectors.preview import read_preview
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.spark.run.stop_control import Control
from engine.spark.write.targets import sink_directory
from engine.spark.write.write_segments import WholeChanges
from tests.corpus.case import INPUTS
from tests.golden.folding import fold

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

SCRIPT = """
CREATE TABLE orders (id INT PRIMARY KEY, customer TEXT, amount BIGINT, paid BOOLEAN NOT NULL, at TIMESTAMP)
WITH (connector = 'single_file', path = '$inputs/orders.jsonl', format = 'debezium_json', type = 'source');
CREATE TABLE file WITH (connector = 'single_file', path = '$out/file.json', format = 'debezium_json', type = 'sink');
CREATE TABLE folder WITH (
  connector = 'filesystem', path = '$out/folder', format = 'debezium_json', type = 'sink',
  'partitioning.fields' = [paid], 'partitioning.time_pattern' = '%Y'
);
CREATE TABLE shown WITH (connector = 'preview');
CREATE TABLE dropped WITH (connector = 'blackhole');
INSERT INTO file SELECT * FROM orders;
INSERT INTO folder SELECT * FROM orders;
INSERT INTO shown SELECT id, customer FROM orders WHERE amount < 100;
INSERT INTO dropped SELECT id FROM orders;
"""


def final_orders() -> dict[tuple[object, ...], dict[str, object]]:
    """What the changes of the source come to, made one after the other."""
    lines = (INPUTS / "orders.jsonl").read_text().replace('"op": "r"', '"op": "c"').splitlines()
    return fold((json.dumps(json.loads(line).get("payload") or json.loads(line)) for line in lines), ("id",))


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what all sinks got, in epochs of three records."""
    folder = tmp_path_factory.mktemp("changes")
    sql = SCRIPT.replace("$inputs", str(INPUTS)).replace("$out", str(folder))
    assert (
        run_in(
            spark,
            RunSpec("changes", sql, folder / "state", settings=replace(PLAIN_SETTINGS, max_epoch_rows=3)),
            Control(),
        )
        == "finished"
    )
    return folder


def changes_in(paths: Iterable[Path]) -> list[str]:
    return [line for path in paths for line in path.read_text().splitlines()]


def test_a_file_comes_to_the_rows_of_the_source(written: Path) -> None:
    lines = changes_in([written / "file.json"])

    assert fold(lines, ("id",)) == final_orders()
    assert {json.loads(line)["op"] for line in lines} == {"c", "u", "d"}


def test_a_row_that_moves_to_another_directory_is_taken_from_the_old_one(written: Path) -> None:
    orders: dict[tuple[object, ...], dict[str, object]] = {}
    for value in ("true", "false"):
        rows = fold(changes_in(sorted((written / "folder").glob(f"*/paid={value}/*.json"))), ("id",))
        assert all(row["paid"] == (value == "true") for row in rows.values())
        orders |= rows

    assert orders == final_orders()


def test_a_preview_shows_changes_without_being_told(written: Path) -> None:
    rows = read_preview(sink_directory(written / "state", "shown"))
    lines = [line.decode() for line in rows.lines]

    assert fold(lines, ("id",)) == {
        key: {"id": row["id"], "customer": row["customer"]}
        for key, row in final_orders().items()
        if isinstance(row["amount"], int) and row["amount"] < 100
    }


class BatchList:
    """A writer that keeps its batches."""

    def __init__(self) -> None:
        self.batches: list[pa.RecordBatch] = []

    def write(self, rows: pa.RecordBatch) -> None:
        self.batches.append(rows)

    def close(self) -> bytes:
        return b"closed"


def test_a_retract_is_never_parted_from_the_append_that_replaces_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa

    monkeypatch.setattr("engine.spark.write.write_segments.MOST_ROWS", 4)
    rows = pa.RecordBatch.from_arrays([pa.array([1, 2, 2, 3, 3, 4, 4, 4, 4, 4, 4, 4])], names=["_id"])
    writer = BatchList()
    whole_changes = WholeChanges(writer)

    for at in range(rows.num_rows):
        whole_changes.write(rows.slice(at, 1))

    assert whole_changes.close() == b"closed"
    assert [batch.column(0).to_pylist() for batch in writer.batches] == [[1, 2, 2], [3, 3], [4, 4, 4, 4], [4, 4, 4]]
