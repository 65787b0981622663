"""Sinks that get a column by an upgrade: what independent readers find in them before, after, and in open files."""

from __future__ import annotations

import duckdb
import pytest
from deltalake import DeltaTable

from tests.checkpoints.test_carry_over_with_spark import LAST, Pipeline, all_events, pipeline
from tests.checkpoints.test_upgrade_with_spark import last_of_old, upgrade

__all__ = ["pipeline"]
pytestmark = pytest.mark.spark


def script(story: Pipeline, columns: str) -> str:
    """The events into a Delta table, and into Parquet files that stay open."""
    return "".join(
        f"""
        CREATE TABLE {name} WITH (connector = '{connector}', path = '{story.folder}/{name}', {options} type = 'sink');
        INSERT INTO {name} SELECT {columns} FROM events;
        """
        for name, connector, options in (
            ("lake", "delta", ""),
            ("files", "filesystem", "format = 'parquet', rolling_policy.interval = '1 day',"),
        )
    )


def test_a_delta_table_and_parquet_files_get_a_column_from_the_first_row_on(pipeline: Pipeline) -> None:
    pipeline.run(script(pipeline, "number"), LAST)
    assert DeltaTable(pipeline.folder / "lake").schema().to_arrow().names == ["number"]

    upgrade(pipeline, script(pipeline, "key, number"))

    first = last_of_old(pipeline) + 1
    later = {number for _, _, number in all_events(first)}
    events = sorted(all_events(), key=lambda event: event[2])
    expected = [(key if number in later else None, number) for _, key, number in events]
    lake = DeltaTable(pipeline.folder / "lake").to_pyarrow_table()
    assert sorted(zip(lake["key"].to_pylist(), lake["number"].to_pylist(), strict=True), key=_number) == expected
    files = f"read_parquet('{pipeline.folder}/files/*.parquet', union_by_name = true)"
    with duckdb.connect() as duck:
        assert duck.execute(f"SELECT key, number FROM {files} ORDER BY number").fetchall() == expected


def _number(row: tuple[str, int]) -> int:
    return row[1]
