"""Moves of an operator state to a bucket and back, without Spark: killed at each point, one valid state is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from engine.checkpoints import manifest as contents
from engine.checkpoints.claim import StatefulQuery, claim
from engine.checkpoints.doctor import examine
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.places import Directory
from engine.checkpoints.savepoints import take, verify
from engine.checkpoints.state_bucket import read_state_url, state_storage
from engine.checkpoints.state_files import state_files
from engine.checkpoints.state_mirror import with_local_state
from engine.checkpoints.state_moves import (
    bring_state_home,
    delete_prefixes,
    probe_bucket,
    state_prefix,
    sweep_prefixes,
)
from engine.checkpoints.state_pointer import begun_prefixes, read_pointer
from engine.checkpoints.swap import StateMovePoint, begin_swap, commit_swap
from engine.checkpoints.whole_state import export_state, import_state, read_state
from engine.compile import compile_script
from engine.delivery.faults import ALLOWED, ARMED
from engine.errors import (
    SettingError,
    StateBucketError,
    StateBucketUnavailableError,
    StateBusyError,
)
from engine.inspection.epochs import list_state
from engine.inspection.find import find_damage
from engine.spark.run.lifecycle import run
from engine.spark.run.run_spec import PLAIN_SETTINGS, RunSpec
from engine.spark.run.stop_control import Control
from engine.values.cluster import ClusterSettings
from tests.checkpoints.conftest import clock, paths
from tests.s3.store import Store

__all__ = ("clock", "paths")

TO_BUCKET = {
    StateMovePoint.AFTER_PREFIX: False,
    StateMovePoint.AFTER_UPLOAD: False,
    StateMovePoint.AFTER_POINTER: True,
}
"""The points of an upload, and whether the state is in the bucket after them."""
FROM_BUCKET = {StateMovePoint.AFTER_DOWNLOAD: True, StateMovePoint.AFTER_POINTER_REMOVED: False}
MOVE = """
import sys
from pathlib import Path
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.state_moves import bring_state_home, state_prefix
paths = StatePaths(Path(sys.argv[1]))
if sys.argv[2:]:
    state_prefix(paths, sys.argv[2])
else:
    bring_state_home(paths)
"""
EPOCH = 9
SQL = """
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = '10', message_count = '10');
CREATE TABLE out WITH (connector = 'stdout', type = 'sink', format = 'json');
INSERT INTO out SELECT tumble(INTERVAL '10 seconds') AS w, count(*) AS ticks FROM ticks GROUP BY w;
"""


def url_of(bucket: Store) -> str:
    return f"s3://{bucket.bucket}/jobs"


def needed(paths: StatePaths) -> dict[Path, bytes]:
    """Every file of the state that the newest epoch needs, wherever it is."""
    files = state_files(paths.checkpoint)
    names = [file for file in contents.files_of(paths.checkpoint, EPOCH) if file.parts[0] == "state"]
    return {name: files.read(name) for name in names}


def local_files(paths: StatePaths) -> list[Path]:
    return [path for path in (paths.checkpoint / "state").rglob("*") if path.is_file()]


def move_and_die(paths: StatePaths, point: StateMovePoint, *url: str) -> None:
    command = [sys.executable, "-c", MOVE, str(paths.root), *url]
    died = subprocess.run(command, env={**os.environ, ARMED: point.value, ALLOWED: "1"}, check=False)
    assert died.returncode == -signal.SIGKILL


def test_every_point_is_killed() -> None:
    assert set(StateMovePoint) == TO_BUCKET.keys() | FROM_BUCKET.keys()


def test_a_state_goes_to_the_bucket_and_comes_back(paths: StatePaths, bucket: Store) -> None:
    before = needed(paths)

    url = state_prefix(paths, url_of(bucket))

    assert url.startswith(f"{url_of(bucket)}/")
    assert local_files(paths) == []
    assert needed(paths) == before
    assert examine(paths) == []
    assert state_prefix(paths, url_of(bucket)) == url

    bring_state_home(paths)

    assert read_pointer(paths.checkpoint) is None
    assert needed(paths) == before
    assert examine(paths) == []


@pytest.mark.parametrize(("point", "is_in_bucket"), TO_BUCKET.items(), ids=str)
def test_an_upload_that_is_killed_leaves_one_state(
    paths: StatePaths, bucket: Store, point: StateMovePoint, is_in_bucket: bool
) -> None:
    before = needed(paths)

    move_and_die(paths, point, url_of(bucket))

    assert (read_pointer(paths.checkpoint) is not None) == is_in_bucket
    assert needed(paths) == before
    url = state_prefix(paths, url_of(bucket))
    sweep_prefixes(paths)
    sweep_prefixes(paths)
    assert needed(paths) == before
    assert local_files(paths) == []
    assert begun_prefixes(paths) == (url,)


@pytest.mark.parametrize(("point", "is_in_bucket"), FROM_BUCKET.items(), ids=str)
def test_a_download_that_is_killed_leaves_one_state(
    paths: StatePaths, bucket: Store, point: StateMovePoint, is_in_bucket: bool
) -> None:
    before = needed(paths)
    state_prefix(paths, url_of(bucket))

    move_and_die(paths, point)

    assert (read_pointer(paths.checkpoint) is not None) == is_in_bucket
    assert needed(paths) == before
    bring_state_home(paths)
    assert needed(paths) == before
    sweep_prefixes(paths)
    sweep_prefixes(paths)
    assert state_storage(read_state_url(url_of(bucket))).list() == {}
    assert begun_prefixes(paths) == ()


def test_the_prefix_of_a_replaced_state_that_is_kept_stays(paths: StatePaths, bucket: Store) -> None:
    url = state_prefix(paths, url_of(bucket))
    (begin_swap(paths) / "checkpoint").mkdir()
    commit_swap(paths)

    assert sweep_prefixes(paths) == 0

    assert begun_prefixes(paths) == (url,)
    assert state_storage(read_state_url(url)).list() != {}


def test_a_state_without_an_epoch_begins_with_an_empty_prefix(tmp_path: Path, bucket: Store) -> None:
    new = StatePaths(tmp_path / "new")

    url = state_prefix(new, url_of(bucket))

    pointer = read_pointer(new.checkpoint)
    assert pointer is not None
    assert pointer.url == url
    bring_state_home(new)
    assert read_pointer(new.checkpoint) is None


def test_a_savepoint_copies_what_its_epoch_needs(
    paths: StatePaths, bucket: Store, clock: Callable[[], datetime]
) -> None:
    local = take(paths.root, "local", label=None, clock=clock)
    state_prefix(paths, url_of(bucket))

    there = take(paths.root, "there", label=None, clock=clock)

    assert there.files == local.files
    assert verify(paths.savepoints / "there").files == local.files


def test_a_state_that_lacks_an_object_does_not_come_home(paths: StatePaths, bucket: Store) -> None:
    url = state_prefix(paths, url_of(bucket))
    state_storage(read_state_url(url)).delete(["0/0/SSTs/000008.sst"])

    with pytest.raises(StateBucketError, match=r"epoch 9 is incomplete: .*000008\.sst is missing"):
        bring_state_home(paths)

    assert read_pointer(paths.checkpoint) is not None
    assert [finding.fault for finding in examine(paths)] == ["is missing"]


def test_a_tool_gets_a_copy_with_a_local_state(paths: StatePaths, bucket: Store) -> None:
    before = needed(paths)
    with with_local_state(paths.root) as same:
        assert same == paths.root
    url = state_prefix(paths, url_of(bucket))

    with with_local_state(paths.root) as local:
        copy = StatePaths(local)
        assert read_pointer(copy.checkpoint) is None
        assert needed(copy) == before
        assert examine(copy) == []
    assert not local.exists()

    state_storage(read_state_url(url)).delete(["0/0/10_0000000a-0000.changelog"])
    with with_local_state(paths.root) as local:
        assert len(needed(StatePaths(local))) == len(before) - 1
    assert [path.name for path in paths.root.iterdir() if path.name.startswith("arroyo-state")] == []


def test_epochs_are_listed_with_their_sizes(paths: StatePaths, bucket: Store) -> None:
    local = list_state(paths.root)
    assert any(epoch.bytes for epoch in local.epochs)
    state_prefix(paths, url_of(bucket))

    newest = list_state(paths.root).epochs[-1]

    assert (newest.number, newest.bytes) == (local.epochs[-1].number, local.epochs[-1].bytes)


def test_damage_is_named_by_the_path_in_the_state_directory(paths: StatePaths, bucket: Store) -> None:
    url = state_prefix(paths, url_of(bucket))
    state_storage(read_state_url(url)).delete(["0/0/SSTs/000008.sst"])

    found = {damage.path for damage in find_damage(paths.root)}

    assert paths.checkpoint / "state" / "0" / "0" / "SSTs" / "000008.sst" in found
    assert all(path.is_relative_to(paths.root) for path in found)


def test_a_move_to_another_control_plane_takes_the_state_along(
    paths: StatePaths, bucket: Store, tmp_path: Path
) -> None:
    before = needed(paths)
    state_prefix(paths, url_of(bucket))
    place = Directory(tmp_path / "place")

    export_state(paths.root, place, {"pipeline_id": "pl_1"})
    import_state(read_state(place), place, tmp_path / "there")

    arrived = StatePaths(tmp_path / "there")
    assert needed(arrived) == before
    assert begun_prefixes(arrived) == ()


def test_objects_of_a_deleted_state_are_deleted(paths: StatePaths, bucket: Store) -> None:
    state_prefix(paths, url_of(bucket))

    delete_prefixes(paths)

    assert state_storage(read_state_url(url_of(bucket))).list() == {}


def test_a_state_that_another_run_has_is_not_moved(tmp_path: Path) -> None:
    new = StatePaths(tmp_path / "new")
    spec = spec_of(new, generation=7)
    other = claim(new, StatefulQuery(spec.name, spec.sql, compile_script(spec.sql).fingerprint, 2))

    with pytest.raises(StateBusyError, match="cannot be moved while another run has it"):
        run(spec, Control(), lambda _: None)

    other.release()
    assert read_pointer(new.checkpoint) is None


def spec_of(paths: StatePaths, **others: Any) -> RunSpec:
    settings = replace(PLAIN_SETTINGS, cluster=ClusterSettings(state_url="s3://bucket/jobs"))
    return RunSpec("clicks", SQL, paths.root, parallelism=2, settings=settings, **others)


@pytest.mark.parametrize("text", ["s3://bucket", "/disk", "file:///disk", "gs://bucket/jobs", "s3://"])
def test_invalid_bucket_prefix_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match="state_url"):
        read_state_url(text)


def test_a_probe_leaves_nothing(bucket: Store) -> None:
    probe_bucket(url_of(bucket))

    assert state_storage(read_state_url(url_of(bucket))).list() == {}


def test_a_store_that_does_not_answer_is_an_outage(bucket: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")

    with pytest.raises(StateBucketUnavailableError, match="cannot be reached"):
        probe_bucket(url_of(bucket))
