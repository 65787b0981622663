"""What a query with its state in a bucket asks of the store: how often, and what becomes of faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.errors import StateBucketError, StateBucketUnavailableError
from engine.spark.run.lifecycle import run_in
from engine.spark.run.stop_control import Control
from engine.values.epoch_report import EpochReport
from tests.s3.faulty_store import Fault, FaultyStore, Request, faulty
from tests.s3.store import Store
from tests.s3.test_state_in_a_bucket import is_whole, spec_of
from tests.streams.play import play

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OF_EPOCHS = {"PUT changelog"}
"""The kinds of requests that epochs send; all others in the middle of a run are maintenance's."""
AT_MOST = 12


@pytest.fixture
def proxy(bucket: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyStore]:
    with faulty(bucket.endpoint) as store:
        monkeypatch.setenv("AWS_ENDPOINT_URL", store.url)
        yield store


def failing(count: int, fault: Fault, kind: str = "PUT changelog"):  # type: ignore[no-untyped-def]
    left = [count]

    def fails(request: Request) -> Fault | None:
        if request.kind != kind or left[0] == 0:
            return None
        left[0] -= 1
        return fault

    return fails


def test_an_epoch_of_two_partitions_sends_two_requests(
    spark: SparkSession, bucket: Store, proxy: FaultyStore, tmp_path: Path
) -> None:
    """Maintenance, which runs twice a second here and once a minute elsewhere, is told apart by what it asks for."""
    marks: list[int] = []
    reported: Counter[str] = Counter()

    def on_epoch(report: EpochReport) -> None:
        marks.append(len(proxy.requests))
        reported.update(report.state_requests)

    assert run_in(spark, spec_of(tmp_path, bucket), Control(), on_epoch) == "finished"

    first, last = 2, len(marks) - 2
    middle = [request for request in proxy.requests[marks[first] : marks[last]] if ".owners" not in request.path]
    kinds = Counter(request.kind for request in middle)
    of_epochs = sum(count for kind, count in kinds.items() if kind in OF_EPOCHS)
    assert of_epochs == 2 * (last - first), kinds
    assert of_epochs / (last - first) <= AT_MOST
    assert kinds.keys() - OF_EPOCHS <= {"LIST", "HEAD", "PUT zip", "PUT sst", "DELETE changelog", "GET"}, kinds
    assert is_whole(tmp_path)
    # those of the probe and of the claim on the prefix are the driver's, and not Spark's
    of_driver = ("probe-", ".owners", "?delete", "prefix=jobs/&", "prefix=jobs%2F&")
    assert reported["changelog"] == 2 * len(marks)
    reported["put"] += reported.pop("changelog")

    def sent(until: int | None) -> Counter[str]:
        of_spark = [each for each in proxy.requests[:until] if not any(part in each.path for part in of_driver)]
        return Counter(request.kind.partition(" ")[0].lower() for request in of_spark)

    # maintenance goes on while an epoch is reported
    assert sent(marks[-2]) <= reported <= sent(None)


def test_a_store_that_is_busy_for_a_moment_stops_nothing(
    spark: SparkSession, bucket: Store, proxy: FaultyStore, tmp_path: Path
) -> None:
    proxy.fault = failing(4, "unavailable")

    assert play(spark, spec_of(tmp_path, bucket))[0] == "finished"

    assert len(proxy.failed) == 4
    assert is_whole(tmp_path)


@pytest.mark.parametrize("kind", ["PUT changelog", "PUT"])
def test_an_answer_that_is_lost_is_no_conflict(
    spark: SparkSession, bucket: Store, proxy: FaultyStore, tmp_path: Path, kind: str
) -> None:
    """Metadata and schemas are created once: the second try finds what the first has written."""
    lost: list[Request] = []

    def fails(request: Request) -> Fault | None:
        if request.kind != kind or (kind == "PUT" and "/_metadata/" not in request.path) or request in lost:
            return None
        lost.append(request)
        return "lost"

    proxy.fault = fails

    assert play(spark, spec_of(tmp_path, bucket))[0] == "finished"

    assert proxy.failed == lost != []
    assert all(request.is_conditional for request in lost) == (kind == "PUT")
    assert is_whole(tmp_path)


def test_a_store_that_stays_away_ends_the_run_and_nothing_is_lost(
    spark: SparkSession, bucket: Store, proxy: FaultyStore, tmp_path: Path
) -> None:
    spec = spec_of(tmp_path, bucket)
    assert play(spark, spec, stop_after=2)[0] == "stopped"
    proxy.fault = failing(-1, "unavailable")

    with pytest.raises(StateBucketUnavailableError, match="does not answer"):
        play(spark, spec)

    proxy.fault = lambda _: None
    assert play(spark, spec)[0] == "finished"
    assert is_whole(tmp_path)


def test_a_refusal_is_named_at_the_start_and_in_an_epoch(
    spark: SparkSession, bucket: Store, proxy: FaultyStore, tmp_path: Path
) -> None:
    spec = spec_of(tmp_path, bucket)
    proxy.fault = failing(-1, "refused", "PUT")
    with pytest.raises(StateBucketError, match=r"cannot be used: .*AccessDenied"):
        play(spark, spec)
    assert not (spec.state_dir / "checkpoint" / "offsets").exists()

    proxy.fault = failing(-1, "refused")
    with pytest.raises(StateBucketError, match="refuses requests"):
        play(spark, spec)

    proxy.fault = lambda _: None
    assert play(spark, replace(spec, generation=None))[0] == "finished"
    assert is_whole(tmp_path)
