"""When an epoch of the old query has to be finished before another query takes over its state."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from engine.changes.compare import compare
from engine.checkpoints.forms import write_forms
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.manifest import read_manifest
from engine.compile import compile_script
from engine.delivery.manifests import EpochManifest, decide_manifest
from engine.errors import StateNotKeptError
from engine.plan.nodes import Retelling
from engine.plan.state.forms import Form
from engine.spark.run.run_spec import StateUpgrade
from engine.spark.upgrade.take_over import is_begun_for_good, retellings_of, save_before
from engine.spark.write.targets import sink_directory
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


GROUPS = """
CREATE TABLE clicks (at TIMESTAMP NOT NULL, user TEXT, n BIGINT)
WITH (connector = 'kafka', bootstrap_servers = 'k:9092', topic = 'clicks', format = 'json', type = 'source');
CREATE TABLE out (user TEXT, c BIGINT) WITH ({kafka}, topic = 'out');
CREATE TABLE more (user TEXT, c BIGINT) WITH ({kafka}, topic = 'more');
CREATE VIEW busy AS SELECT user, count(*) AS c FROM clicks GROUP BY user HAVING count(*) > {least};
""".replace("{kafka}", "connector = 'kafka', type = 'sink', bootstrap_servers = 'b:1', format = 'debezium_json'")
OUT, MORE = "INSERT INTO out SELECT user, c FROM busy;", "INSERT INTO more SELECT user, c FROM busy;"
PENDING = Retelling("first", "(c1 > 1)", 4)


def retold(folder: Path, inserts: str, least: int, epoch: int, reset: frozenset[str]) -> list[Retelling]:
    """What a further query is to tell, of whose two predecessors the second has changed a condition at epoch 3."""
    checkpoint = StatePaths(folder).checkpoint
    (checkpoint / "commits").mkdir(parents=True)
    (checkpoint / "commits" / str(epoch)).touch()
    write_forms(checkpoint, {0: Form(None, retelling=PENDING)})
    before, after = compile_script(GROUPS.format(least=3) + OUT), compile_script(GROUPS.format(least=least) + inserts)
    plan = compare(before, after, reset=sorted(reset))
    return list(retellings_of(StatePaths(folder), before, after, plan, reset).values())


@pytest.mark.parametrize("least", [3, 5])
def test_unreported_late_rows_of_the_old_query_are_reported_by_the_new_one_for_its_tables(
    least: int, tmp_path: Path
) -> None:
    assert retold(tmp_path, OUT, least, 3, frozenset()) == [PENDING]


@pytest.mark.parametrize(("inserts", "reset"), [(MORE, set()), (OUT + MORE, set()), (OUT, {"out"})])
@pytest.mark.parametrize("least", [3, 5])
def test_a_query_that_writes_elsewhere_is_refused_until_the_one_before_has_told_what_it_lets_out(
    inserts: str, reset: set[str], least: int, tmp_path: Path
) -> None:
    with pytest.raises(
        StateNotKeptError, match="in which out would have received the rows that this lets through; this one writes"
    ):
        retold(tmp_path / "pending", inserts, least, 3, frozenset(reset))

    assert PENDING not in retold(tmp_path / "told", inserts, least, 4, frozenset(reset))
