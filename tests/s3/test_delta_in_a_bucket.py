"""A Delta table in a bucket, and commits whose answer is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from engine.connectors.base import Table
from tests.cluster.stores import PASSWORD, USER
from tests.connectors.tables import NUMBERS, batch, epoch, sink, table, take
from tests.s3.proxy import losing
from tests.s3.store import Store


def delta(store: Store, endpoint: str) -> Table:
    keys = {"storage__access_key_id": USER, "storage__secret_access_key": PASSWORD}
    path = f"s3::{endpoint}/{store.bucket}/out"
    return table("delta", NUMBERS, path=path, partitioning__fields=("name",), **keys)


def numbers(store: Store) -> list[int]:
    options = {"AWS_ENDPOINT_URL": store.endpoint, "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}
    options |= {"AWS_ACCESS_KEY_ID": USER, "AWS_SECRET_ACCESS_KEY": PASSWORD}
    delta_table = DeltaTable(f"s3://{store.bucket}/out", storage_options=options)
    return sorted(row["n"] for row in delta_table.to_pyarrow_table().to_pylist())


def is_commit(request: bytes) -> bool:
    first = request.partition(b"\r\n")[0]
    return (
        first.startswith(b"PUT")
        and b"/_delta_log/" in first
        and first.split(b"?")[0].rstrip().endswith((b".json", b".json HTTP/1.1"))
    )


@pytest.mark.parametrize("times", [0, 1])
def test_rows_come_into_the_table_once(times: int, store: Store, tmp_path: Path) -> None:
    with losing(store.endpoint, is_commit) as proxy:
        for number in range(3):
            proxy.drops = times if number == 1 else 0
            rows = batch(NUMBERS, (number, "a/b"), (number, "c"))
            take(sink(delta(store, proxy.url), tmp_path / "sinks" / "t"), epoch(number), [rows])

    assert proxy.dropped == times
    assert numbers(store) == [0, 0, 1, 1, 2, 2]
