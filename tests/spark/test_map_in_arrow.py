"""Rows through a function over Arrow, without pandas."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.spark.map_in_arrow import map_in_arrow

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

WITHOUT_PANDAS = """
import sys
from pathlib import Path
from engine.spark.run.lifecycle import RunSpec, run
from engine.spark.run.stop_control import Control
from engine.values.run_settings import RunSettings
script = '''
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = '1000', message_count = '9');
CREATE TABLE printed WITH (connector = 'stdout', format = 'json', type = 'sink');
INSERT INTO printed SELECT counter FROM ticks WHERE counter % 3 = 0;
'''
run(RunSpec("rows", script, Path(sys.argv[1]), settings=RunSettings(quick=True)), Control(), lambda _: None)
print("pandas" in sys.modules)
"""


@pytest.mark.spark
def test_result_equals_map_in_arrow_of_spark(spark: SparkSession) -> None:
    def twice(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow.compute as pc

        for batch in batches:
            yield batch.set_column(0, "n", pc.multiply(batch.column(0), 2))

    rows = spark.range(5)

    assert map_in_arrow(rows, twice, "n bigint").collect() == rows.mapInArrow(twice, "n bigint").collect()


@pytest.mark.spark
def test_a_run_without_functions_of_pandas_does_not_import_it(tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-c", WITHOUT_PANDAS, str(tmp_path / "state")],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )

    assert process.stdout.splitlines()[-1] == "False", process.stderr
    assert process.stdout.count("counter") == 3
