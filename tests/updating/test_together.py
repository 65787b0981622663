"""Buckets that take their steps together: each keeps and sends out what it would alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from engine.plan.tree import WATERMARK
from engine.updating import chunks as module
from engine.updating.bucket_state import BucketState
from engine.updating.chunks import Chunks
from engine.updating.join import JoinSide
from engine.updating.serialization import BUCKETS
from tests.updating.streams import INSTANT, identity
from tests.updating.test_join import LARGER, spec_of

if TYPE_CHECKING:
    from engine.plan.nodes import JoinKind

TTL = 40


def rows_of(side: int, chance: Random, epoch: int) -> pa.Table:
    """Rows of an epoch with some of 300 keys: enough that most buckets have some, and some have none."""
    keys = [chance.randrange(300) for _ in range(chance.choice([3, 40, 200]))]
    values = [chance.randrange(4) for _ in keys]
    hashes = [identity(key, value) for key, value in zip(keys, values, strict=True)]
    letter = "lr"[side]
    return pa.table(
        {
            "_j": pa.array([identity(key) for key in keys], pa.int64()),
            "_r": pa.array(hashes, pa.int64()),
            "_id": pa.array(hashes, pa.int64()),
            f"{letter}0": [f"key {key}" for key in keys],
            f"{letter}1": pa.array(values, pa.int64()),
            "_timestamp": pa.array([epoch * 10 - chance.randrange(9) for _ in keys], INSTANT),
            "_retract": pa.array([chance.random() < 0.3 for _ in keys]),
            WATERMARK: pa.array([epoch * 10 - chance.randrange(9) for _ in keys], INSTANT),
        }
    )


def is_same(state: BucketState, other: BucketState) -> bool:
    """Whether both keep the same marks and the same chunks."""
    if replace(state, tables={}) != replace(other, tables={}) or state.tables.keys() != other.tables.keys():
        return False
    pairs = [(chunks, other.tables[name]) for name, chunks in state.tables.items()]
    return all(
        len(chunks.tables) == len(others.tables)
        and all(table.equals(another) for table, another in zip(chunks.tables, others.tables, strict=True))
        for chunks, others in pairs
    )


def sorted_rows(tables: Sequence[pa.Table]) -> list[str]:
    return sorted(repr(row) for table in tables for row in table.to_pylist())


@pytest.mark.parametrize("few_rows", [4, 4096])
@pytest.mark.parametrize(("kind", "larger"), [("inner", False), ("full", True), ("anti", False)])
def test_buckets_do_together_what_each_does_alone(
    kind: JoinKind, larger: bool, few_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FEW_ROWS", few_rows)
    changes = kind != "inner"
    spec = replace(
        spec_of(kind, condition=LARGER if larger else None, changes=changes, ttl=TTL), has_watermark=not changes
    )
    chance = Random(few_rows)
    operators = [JoinSide(spec, number) for number in (0, 1)]
    together: Mapping[int, BucketState] = {bucket: BucketState() for bucket in range(BUCKETS)}
    alone = dict(together)
    sizes = set()

    for epoch in range(8):
        payloads: dict[int, list[bytes]] = defaultdict(list)
        for operator in operators:
            for bucket, payload in operator.pack(rows_of(operator.number, chance, epoch)):
                payloads[bucket].append(payload)
        sizes.add(len(payloads))
        result = operators[0].steps({bucket: together[bucket] for bucket in payloads}, payloads)
        each = [
            operators[0].steps({bucket: alone[bucket]}, {bucket: of_bucket}) for bucket, of_bucket in payloads.items()
        ]
        together = {**together, **result.states}
        alone |= {bucket: state for one in each for bucket, state in one.states.items()}

        assert sorted_rows([result.out]) == sorted_rows([one.out for one in each])
        assert all(is_same(together[bucket], alone[bucket]) for bucket in payloads)
    assert max(sizes) > BUCKETS // 2


@pytest.mark.parametrize("few_rows", [4, 4096])
def test_chunks_are_found_and_merged_together_as_each_bucket_does(
    few_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FEW_ROWS", few_rows)
    chance = Random(few_rows)
    places = [identity(number) for number in range(150)]
    together = {bucket: Chunks(("_j", "_r")) for bucket in range(BUCKETS)}
    alone = dict(together)

    for epoch in range(30):
        keys = sorted({(chance.choice(places), chance.randrange(2)) for _ in range(chance.choice([2, 30, 120]))})
        weights = [chance.randrange(2) for _ in keys]
        columns = {"_j": [key for key, _ in keys], "_r": [row for _, row in keys], "_n": weights}
        changed = pa.table(columns | {"at": [epoch] * len(keys)})
        together = module.add_together(together, changed)
        for bucket, rows in module.divided(changed, "_j").items():
            alone[bucket] = alone[bucket].add(rows)
        ids = np.array(sorted(chance.sample(places, 20)))
        each = [rows for chunks in alone.values() if (rows := chunks.find(ids)) is not None]

        assert {bucket: chunks.tables for bucket, chunks in together.items()} == {
            bucket: chunks.tables for bucket, chunks in alone.items()
        }
        found = module.find_together(together.values(), ids)
        assert found is not None
        assert sorted_rows([found]) == sorted_rows(each)
