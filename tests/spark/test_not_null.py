"""A sink's NOT NULL is kept: the run stops with an error, before anything of the epoch is seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.errors import NullValueError
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.stop_control import Control

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_null_for_a_column_that_is_not_null_stops_the_run(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text('{"who": "a", "paid": 1}\n{"who": "b"}\n')
    sql = f"""
        CREATE TABLE bills (who TEXT, paid BIGINT) WITH (
          connector = 'single_file', path = '{tmp_path}/in.json', format = 'json', type = 'source');
        CREATE TABLE booked (who TEXT, paid BIGINT NOT NULL) WITH (
          connector = 'single_file', path = '{tmp_path}/out.json', format = 'json', type = 'sink');
        INSERT INTO booked SELECT who, paid FROM bills;
    """

    with pytest.raises(NullValueError, match="'paid' of booked, which is NOT NULL") as raised:
        run_in(spark, RunSpec("bills", sql, tmp_path / "state"), Control())

    assert "coalesce(paid" in (raised.value.hint or "")
    assert not (tmp_path / "out.json").exists() or not (tmp_path / "out.json").read_text()
