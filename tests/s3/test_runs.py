"""A real run that writes files into a bucket and into a Delta table beside them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.spark.run.stop_control import Control
from tests.cluster.stores import PASSWORD, USER
from tests.s3.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCRIPT = """
CREATE TABLE numbers (n BIGINT NOT NULL, name TEXT) WITH (
  connector = 'single_file', path = '$folder/in.json', format = 'json', type = 'source'
);
CREATE TABLE files (n BIGINT, name TEXT) WITH (
  connector = 'filesystem', type = 'sink', format = 'parquet', path = 's3::$endpoint/$bucket/out',
  'storage.access_key_id' = '{{ secret:KEY_ID }}', 'storage.secret_access_key' = '{{ secret:KEY }}'
);
CREATE TABLE lake (name TEXT, n BIGINT) WITH (
  connector = 'delta', path = '$folder/lake', 'partitioning.fields' = [name], 'rolling_policy.file_size' = '1kb'
);
INSERT INTO files SELECT n, name FROM numbers;
INSERT INTO lake SELECT name, n FROM numbers WHERE n >= 10;
"""


def test_rows_come_into_a_bucket_and_into_a_delta_table(
    spark: SparkSession, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARROYO_SECRET_KEY_ID", USER)
    monkeypatch.setenv("ARROYO_SECRET_KEY", PASSWORD)
    rows = [{"n": number, "name": f"part {number % 3}"} for number in range(60)]
    (tmp_path / "in.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    placeholders = {"$folder": str(tmp_path), "$endpoint": store.endpoint, "$bucket": store.bucket}
    sql = SCRIPT
    for name, value in placeholders.items():
        sql = sql.replace(name, value)

    assert (
        run_in(
            spark,
            RunSpec("buckets", sql, tmp_path / "state", settings=replace(PLAIN_SETTINGS, max_epoch_rows=30)),
            Control(),
        )
        == "finished"
    )

    assert store.rows() == rows
    lake = sorted(DeltaTable(tmp_path / "lake").to_pyarrow_table().to_pylist(), key=lambda row: row["n"])
    assert lake == [{"name": row["name"], "n": row["n"]} for row in rows[10:]]
    assert not [
        path for path in (tmp_path / "state").rglob("*") if path.is_file() and PASSWORD.encode() in path.read_bytes()
    ]
