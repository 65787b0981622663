"""Files of tasks on a cluster whose executors see another disk: inputs, notes, dead letters and segments."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.cluster.parts import Cluster
from tests.cluster.play import run

pytestmark = pytest.mark.timeout(900)

_SCRIPT = """
CREATE TABLE sales (n BIGINT NOT NULL, shop TEXT, file TEXT METADATA FROM 'filename') WITH (
  connector = 'filesystem', type = 'source', path = '{inputs}/sales', format = 'json',
  bad_data = 'dead_letter', 'dead_letter.path' = '{out}/letters');
CREATE TABLE other (n BIGINT NOT NULL) WITH (
  connector = 'single_file', type = 'source', path = '{inputs}/other.json.gz', format = 'json',
  bad_data = 'dead_letter', dead_letter.table = 'bad');
CREATE TEMPORARY TABLE shops (shop TEXT PRIMARY KEY, town TEXT) WITH (
  connector = 'filesystem', type = 'lookup', path = '{inputs}/shops.csv', format = 'csv');
CREATE TABLE bad (record TEXT, source TEXT) WITH (
  connector = 'single_file', type = 'sink', path = '{out}/bad.json', format = 'json');
CREATE TABLE lines (n BIGINT, town TEXT) WITH (
  connector = 'single_file', type = 'sink', path = '{out}/lines.json', format = 'json');
CREATE TABLE columns (n BIGINT, file TEXT) WITH (
  connector = 'filesystem', type = 'sink', path = '{out}/columns', format = 'parquet');
CREATE TABLE rest (n BIGINT) WITH (
  connector = 'filesystem', type = 'sink', path = '{out}/rest', format = 'json');
INSERT INTO lines SELECT s.n, t.town FROM sales s JOIN shops t ON s.shop = t.shop;
INSERT INTO columns SELECT n, file FROM sales;
INSERT INTO rest SELECT n FROM other WHERE n % 2 = 0;
"""
_LINES = {"letters": "letters/*", "rest": "rest/*.json", "bad": "bad.json", "lines": "lines.json"}
"""Where rows are written as JSON."""


def _write_inputs(folder: Path) -> None:
    (folder / "sales").mkdir(parents=True)
    for part in range(3):
        rows = [json.dumps({"n": 100 * part + n, "shop": "ab"[n % 2]}) for n in range(100)]
        (folder / f"sales/{part}.json").write_text("\n".join([*rows, f"no JSON {part}", ""]))
    others = [json.dumps({"n": n}) for n in range(50)]
    (folder / "other.json.gz").write_bytes(gzip.compress("\n".join([*others, "bad", ""]).encode()))
    (folder / "shops.csv").write_text("shop,town\na,Aachen\nb,Bonn\n")


def _written(out: Path) -> dict[str, list[Any]]:
    rows = {
        name: [json.loads(line) for path in sorted(out.glob(pattern)) for line in path.read_text().splitlines()]
        for name, pattern in _LINES.items()
    }
    rows["columns"] = [row for path in out.glob("columns/*.parquet") for row in pq.read_table(path).to_pylist()]
    return {name: sorted(found, key=str) for name, found in rows.items()}


def test_cluster_writes_what_one_machine_writes(cluster: Cluster, tmp_path: Path) -> None:
    _write_inputs(tmp_path / "in")
    written = []
    for name, at in (("here", None), ("there", cluster)):
        script = tmp_path / f"{name}.sql"
        (tmp_path / name).mkdir()
        script.write_text(_SCRIPT.format(inputs=tmp_path / "in", out=tmp_path / name))
        status, said = run(script, tmp_path / f"state-{name}", at, max_epoch_rows=150)
        logs = "" if at is None else "\n".join(worker.logs()[-3000:] for worker in at.workers)
        assert status == 0, said + logs
        written.append(_written(tmp_path / name))

    assert {name: len(rows) for name, rows in written[0].items()} == {
        "letters": 3, "rest": 25, "bad": 1, "lines": 300, "columns": 300,
    }  # fmt: skip
    assert written[1] == written[0]
