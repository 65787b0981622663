"""Two runs that would keep their state below one prefix of a bucket: one of them ends, with an error that says so."""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING

import pytest

from engine.checkpoints import state_owners
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.state_bucket import read_state_url, state_storage
from engine.checkpoints.state_owners import PrefixOwner, own_prefix
from engine.checkpoints.state_pointer import read_pointer
from engine.errors import StateInUseError, SupersededError
from engine.spark.run.lifecycle import run_in
from engine.spark.run.stop_control import Control
from engine.values.epoch_report import EpochReport
from tests.s3.faulty_store import Fault, Request, faulty
from tests.s3.store import Store
from tests.s3.test_state_in_a_bucket import spec_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RACES = int(os.environ.get("STATE_RACES", "40"))


def url_of(bucket: Store) -> str:
    return f"s3://{bucket.bucket}/jobs/1"


def test_only_one_of_two_simultaneous_claims_of_a_prefix_succeeds(bucket: Store) -> None:
    both, ends = Barrier(2), Counter[tuple[str, ...]]()

    def race(url: str) -> PrefixOwner | str:
        both.wait()
        try:
            return own_prefix(url)
        except StateInUseError as error:
            return error.code

    def end_of(runner: PrefixOwner | str) -> str:
        if isinstance(runner, str):
            return runner
        try:
            runner.ask()
        except SupersededError as error:
            return error.code
        return "goes on"

    with ThreadPoolExecutor(2) as pool:
        for number in range(RACES):
            url = f"{url_of(bucket)}-{number}"
            runners = list(pool.map(race, [url, url]))
            ends[tuple(sorted(map(end_of, runners)))] += 1

    assert sum(ends.values()) == RACES
    assert ends.keys() <= {("goes on", "state.in_use"), ("delivery.superseded", "goes on")}, ends


def test_older_run_is_told_who_has_the_state_now(bucket: Store) -> None:
    older = own_prefix(url_of(bucket))
    older.ask()

    newer = own_prefix(url_of(bucket))

    with pytest.raises(SupersededError, match=rf"s3://{bucket.bucket}/jobs/1: process {os.getpid()} on "):
        older.ask()
    newer.ask()


def test_claims_of_earlier_runs_are_removed(bucket: Store) -> None:
    for _ in range(4):
        own_prefix(url_of(bucket))

    assert len(state_storage(read_state_url(f"{url_of(bucket)}.owners")).list()) == 2


def test_answer_that_is_lost_is_no_other_run(bucket: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    lost: list[Request] = []

    def fails(request: Request) -> Fault | None:
        if not request.is_conditional or lost:
            return None
        lost.append(request)
        return "lost"

    with faulty(bucket.endpoint) as store:
        store.fault = fails
        monkeypatch.setenv("AWS_ENDPOINT_URL", store.url)
        own_prefix(url_of(bucket)).ask()

    assert len(lost) == 1


def test_run_ends_when_another_one_takes_its_state(
    spark: SparkSession, bucket: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a state directory was copied to the same path of another machine."""
    monkeypatch.setattr(state_owners, "EVERY", timedelta(0))
    spec = spec_of(tmp_path, bucket)
    spec = replace(spec, sql=spec.sql.replace("'120'", "'1200000'"))
    checkpoint = StatePaths(spec.state_dir).checkpoint

    def on_epoch(report: EpochReport) -> None:
        if report.epoch == 1:
            found = read_pointer(checkpoint)
            assert found is not None
            own_prefix(found.url)

    with pytest.raises(SupersededError, match="another run has taken over the state"):
        run_in(spark, spec, Control(), on_epoch)
