"""Rows that were merged in the tasks of sources are summed up to the same as the rows themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest

from engine.arrow.evaluate import evaluate
from engine.arrow.merging import MergingRows
from engine.compile import Program, compile_script
from engine.plan.nodes import Partials, UpdatingAggregate
from engine.plan.tree import EVENT_TIME, ROW_ID, walk
from engine.spark.lower.updating import aggregate_spec, columns_read
from engine.udf.declared import NO_UDFS
from engine.updating.aggregate import summed
from tests.updating.streams import INSTANT, identity

SQL = """
CREATE TABLE events (key TEXT, number BIGINT, small INT, word TEXT, ratio DOUBLE, at TIMESTAMP)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT {columns} FROM events WHERE small IS NULL OR small <> 3 {group};
"""
RESULTS = """count(*) AS n, count(number) AS numbers, sum(number) AS total, sum(small) AS smalls, min(number) AS least,
  max(word) AS last, count(ratio) AS ratios, max(at) AS latest, count(*) AS again"""
KINDS = {
    "key": pa.string(),
    "number": pa.int64(),
    "small": pa.int32(),
    "word": pa.string(),
    "ratio": pa.float64(),
    "at": INSTANT,
}


def program_of(keys: str) -> Program:
    named = keys.replace("number % 2", "number % 2 AS k")
    columns, group = (f"{named}, {RESULTS}", f"GROUP BY {keys}") if keys else (RESULTS, "")
    return compile_script(SQL.format(columns=columns, group=group))


def aggregate_of(program: Program) -> UpdatingAggregate:
    nodes = (node for branch in program.running_parts.branches for node in walk(branch))
    return next(node for node in nodes if isinstance(node, UpdatingAggregate))


def rows(chance: Random, count: int, *, largest: int, times: bool) -> pa.RecordBatch:
    def of(*values: object) -> list[object]:
        return [chance.choice(values) for _ in range(count)]

    columns = {
        "key": of("a", "b", "", None),
        "number": of(None, 5, -7, largest, -largest - 1),
        "small": of(None, 3, -(2**31), 2**31 - 1),
        "word": of("x", "\U0001f600", "\uffff", "", None),
        "ratio": of(None, float("nan"), -0.0, 0.0),
        "at": [chance.randrange(-1_000, 1_000) if times else chance.choice([None, -5, -7]) for _ in range(count)],
    }
    batch = pa.record_batch({name: pa.array(column, KINDS[name]) for name, column in columns.items()})
    return batch.append_column(EVENT_TIME, batch.column("at"))


def read(node: UpdatingAggregate, rows: Sequence[pa.RecordBatch]) -> pa.Table:
    """What the operator has of rows."""
    tables = []
    for batch in rows:
        columns = {name: evaluate(expr, batch) for name, expr in columns_read(node).items()}
        keys = [columns[name].to_pylist() for name in columns if name.startswith("k")]
        ids = [identity(*(str(key[place]) for key in keys)) for place in range(batch.num_rows)]
        columns |= {ROW_ID: pa.array(ids, pa.int64()), EVENT_TIME: batch.column(EVENT_TIME)}
        tables.append(pa.table(columns))
    return pa.concat_tables(tables)


def sums(node: UpdatingAggregate, rows: Sequence[pa.RecordBatch]) -> pa.Table:
    """What a task sends to the buckets."""
    tables = summed(aggregate_spec(node, NO_UDFS), read(node, rows))
    assert list(tables) == ["rows"]
    return tables["rows"]


@pytest.mark.parametrize("keys", ["", "key", "key, number % 2", "ratio"])
@pytest.mark.parametrize("largest", [9, 2**40 - 1, 2**63 - 1])
@pytest.mark.parametrize("times", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_merged_rows_are_summed_up_to_the_same(keys: str, largest: int, times: bool, seed: int) -> None:
    program = program_of(keys)
    plain, merging_node = aggregate_of(program), aggregate_of(replace(program, is_fused=True))
    assert isinstance(merging_node.input, Partials)
    condition = merging_node.input.condition
    assert condition is not None
    chunks = [rows(Random(seed * 10 + part), 100, largest=largest, times=times) for part in range(5)]
    wanted = [chunk.filter(evaluate(condition, chunk)) for chunk in chunks]
    parts = [MergingRows(merging_node.input, 0) for _ in range(2)]

    merged = [part.add(chunk) for part, group in zip(parts, (chunks[:3], chunks[3:]), strict=True) for chunk in group]
    merged += [part.flush() for part in parts]

    crossing = [batch for batch in merged if batch is not None]
    expected = sums(plain, wanted)
    assert str(sums(merging_node, crossing).to_pydict()) == str(expected.to_pydict())
    assert sums(merging_node, crossing).schema == expected.schema
    if largest == 9 and times:
        assert sum(batch.num_rows for batch in crossing) <= 2 * expected.num_rows
