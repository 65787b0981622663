"""A store that is busy, slow, silent or loses answers: a query with its state there waits, or ends with an error, and
its state is whole."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.checkpoints.doctor import examine
from engine.checkpoints.layout import StatePaths
from engine.connectors.files import s3_access
from engine.errors import StateBucketUnavailableError
from engine.spark.jvm import state_in_bucket
from tests.s3.faulty_store import Fault, FaultyStore, Request, faulty
from tests.s3.store import Store
from tests.s3.test_state_in_a_bucket import is_whole, spec_of
from tests.streams.play import play

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST_IN_A_ROW = 3
"""Faults of one request, one after another: clients try at least five times."""


@pytest.fixture
def proxy(bucket: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyStore]:
    with faulty(bucket.endpoint) as store:
        monkeypatch.setenv("AWS_ENDPOINT_URL", store.url)
        yield store


@pytest.fixture
def impatient(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let clients wait for a second where they wait for half a minute otherwise."""
    limits = {name: "1s" for name in state_in_bucket.FIXED if name.endswith("timeout")}
    few = {"fs.s3a.attempts.maximum": "2", "fs.s3a.retry.limit": "2", "fs.s3a.retry.interval": "10ms"}
    monkeypatch.setattr(state_in_bucket, "FIXED", {**state_in_bucket.FIXED, **limits, **few})
    monkeypatch.setattr(s3_access, "READ_SECONDS", 1)
    monkeypatch.setattr(s3_access, "ATTEMPTS", 2)
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    jvm.org.apache.hadoop.fs.s3a.impl.AWSClientConfig.setMinimumOperationDuration(jvm.java.time.Duration.ofMillis(100))
    yield
    jvm.org.apache.hadoop.fs.s3a.impl.AWSClientConfig.resetMinimumOperationDuration()


def at_random(share: float, seed: int) -> Callable[[Request], Fault | None]:
    """Return a fault for a share of all requests: 503, or a lost answer."""
    chance, lock, in_a_row = random.Random(seed), threading.Lock(), Counter[tuple[str, str]]()

    def fault(request: Request) -> Fault | None:
        with lock:
            key = (request.method, request.path)
            if chance.random() >= share or in_a_row[key] == MOST_IN_A_ROW:
                in_a_row[key] = 0
                return None
            in_a_row[key] += 1
            return chance.choice(("unavailable", "lost"))

    return fault


def first(count: int, fault: Fault, kind: str) -> Callable[[Request], Fault | None]:
    """Return a fault for the first requests of a kind."""
    left = iter(range(count))
    return lambda request: fault if request.kind == kind and next(left, None) is not None else None


def test_a_query_continues_while_thirty_percent_of_all_requests_fail(
    spark: SparkSession, bucket: Store, proxy: FaultyStore, tmp_path: Path
) -> None:
    proxy.fault = at_random(0.3, seed=7)

    assert play(spark, spec_of(tmp_path, bucket))[0] == "finished"

    assert len(proxy.failed) > 0.15 * len(proxy.requests)
    assert is_whole(tmp_path)
    assert examine(StatePaths(tmp_path / "state")) == []


def test_a_slow_store_is_waited_for(spark: SparkSession, bucket: Store, proxy: FaultyStore, tmp_path: Path) -> None:
    proxy.fault = lambda request: "slow" if request.kind == "PUT changelog" else None

    assert play(spark, spec_of(tmp_path, bucket))[0] == "finished"

    assert is_whole(tmp_path)


@pytest.mark.usefixtures("impatient")
def test_requests_that_are_never_answered_are_sent_again(
    spark: SparkSession, bucket: Store, proxy: FaultyStore, tmp_path: Path
) -> None:
    proxy.fault = first(3, "silent", "PUT changelog")

    assert play(spark, spec_of(tmp_path, bucket))[0] == "finished"

    assert len(proxy.failed) == 3
    assert is_whole(tmp_path)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("kind", ["PUT changelog", "all"])
def test_a_store_that_stays_silent_ends_the_run_and_leaves_a_whole_state(
    spark: SparkSession, bucket: Store, proxy: FaultyStore, kind: str, tmp_path: Path
) -> None:
    spec = spec_of(tmp_path, bucket)
    assert play(spark, spec, stop_after=2)[0] == "stopped"
    proxy.fault = lambda request: "silent" if kind in ("all", request.kind) else None

    with pytest.raises(StateBucketUnavailableError):
        play(spark, spec)

    proxy.fault = lambda _: None
    assert examine(StatePaths(spec.state_dir)) == []
    assert play(spark, spec)[0] == "finished"
    assert is_whole(tmp_path)
