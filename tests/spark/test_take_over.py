"""When an epoch of the old query has to be finished before another query takes over its state."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from engine.checkpoints.layout import StatePaths
from engine.checkpoints.manifest import read_manifest
from engine.compile import compile_script
from engine.delivery.manifests import EpochManifest, decide_manifest
from engine.spark.run_spec import StateUpgrade
from engine.spark.take_over import is_begun_for_good, save_before
from engine.spark.targets import sink_directory
from tests.checkpoints.conftest import clock, paths

__all__ = ("clock", "paths")
SCRIPT = """
CREATE TABLE numbers WITH (connector = 'impulse', event_rate = 10);
CREATE TABLE out (n BIGINT) WITH ({options});
INSERT INTO out SELECT counter FROM numbers;
"""
KAFKA = "connector = 'kafka', type = 'sink', bootstrap_servers = 'b:1', topic = 't', format = 'json', \
'sink.commit_mode' = 'exactly_once'"
FILES = "connector = 'single_file', type = 'sink', path = '/x', format = 'json'"


@pytest.mark.parametrize(
    ("options", "planned", "lineage", "must_be_finished"),
    [(KAFKA, 3, "a", True), (KAFKA, 2, "a", False), (KAFKA, 3, "b", False), (FILES, 3, "a", False)],
)
def test_only_one_that_kafka_may_have_already(
    options: str, planned: int, lineage: str, must_be_finished: bool, tmp_path: Path
) -> None:
    paths = StatePaths(tmp_path)
    for log, newest in (("offsets", planned), ("commits", 2)):
        (paths.checkpoint / log).mkdir(parents=True)
        (paths.checkpoint / log / str(newest)).touch()
    directory = sink_directory(paths.root, "out")
    directory.mkdir(parents=True)
    decide_manifest(directory, EpochManifest(lineage, 3, "hash", 1, ()))

    assert is_begun_for_good(paths, compile_script(SCRIPT.format(options=options)), "a") is must_be_finished


@pytest.mark.parametrize(("plan", "version"), [("f1", 3), ("f2", None), (None, None)])
def test_a_state_is_saved_as_that_of_a_version_only_if_it_is_of_its_plan(
    paths: StatePaths, clock: Callable[[], datetime], plan: str | None, version: int | None
) -> None:
    wish = StateUpgrade(savepoint_id="sp_1", from_version=3, from_plan=plan)

    save_before(paths, wish, clock)
    save_before(paths, wish, clock)

    assert read_manifest(paths.savepoints / "sp_1").origin.version == version
