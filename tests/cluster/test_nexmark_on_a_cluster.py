"""Nexmark's queries on a cluster whose executors see no file of the driver give the batch answer, as on one machine.

The updating queries were not played there yet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

from tests.cluster.parts import Cluster
from tests.cluster.play import run
from tests.cluster.stores import ObjectStore
from tests.nexmark.queries import STATELESS, WINDOWED, Query
from tests.nexmark.test_nexmark import oracle, script, wrong

__all__ = ["oracle"]  # a fixture
pytestmark = pytest.mark.timeout(1800)


@pytest.mark.parametrize("queries", [STATELESS, WINDOWED], ids=["stateless", "windowed"])
def test_the_queries_give_the_batch_answer(
    cluster: Cluster,
    moto_store: ObjectStore,
    oracle: duckdb.DuckDBPyConnection,
    queries: Sequence[Query],
    tmp_path: Path,
) -> None:
    text = tmp_path / "q.sql"
    text.write_text(script(queries, tmp_path))
    environment = {**moto_store.environment, "ARROYO_NET_ALLOW": "127.0.0.1"}

    status, said = run(
        text,
        tmp_path / "state",
        cluster,
        environment=environment,
        max_epoch_rows=600,
        state_url=f"{moto_store.url}/jobs",
    )

    assert status == 0, said
    assert {query.name: wrong(query, oracle, tmp_path) for query in queries} == {query.name: "" for query in queries}
