"""A run that has been replaced may have read its fence just before, and goes on where it stood still. It must not harm
what its successor has done since."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.delivery.disk_errors import staging
from engine.delivery.epoch import Epoch
from engine.delivery.file_ledger import WritePermit, permit_write, read_ledger
from engine.delivery.manifests import EpochManifest, abandoned_manifests, decide_manifest
from engine.delivery.publish import publish
from engine.delivery.segments import drop_segments, segment_path
from engine.errors import EngineError, SupersededError, UnwritableTargetError
from tests.connectors.tables import NUMBERS, batch, sink, table, take
from tests.delivery.asleep import asleep_before


def epoch(number: int, generation: int, lineage: str = "one", parents: tuple[tuple[str, int], ...] = ()) -> Epoch:
    return Epoch(number, lineage, generation, f"offsets-{number}", parents)


def permitted(directory: Path, epoch: Epoch) -> WritePermit:
    permit = permit_write(directory, epoch)
    assert permit is not None
    return permit


def sink_directory(root: Path) -> Path:
    directory = root / "state" / "sinks" / "t"
    directory.mkdir(parents=True)
    return directory


def test_a_ledger_is_not_put_in_the_place_of_a_newer_one(tmp_path: Path) -> None:
    directory = sink_directory(tmp_path)
    zombie = permitted(directory, epoch(0, generation=1))
    for number in range(3):
        permitted(directory, epoch(number, generation=2)).record(rows=1)

    with pytest.raises(SupersededError) as refused:
        zombie.record(rows=1)

    assert refused.value.hint
    assert [entry.epoch for entry in read_ledger(directory)] == [0, 1, 2]


def test_the_draft_of_a_ledger_that_a_killed_run_has_left_is_removed(tmp_path: Path) -> None:
    directory = sink_directory(tmp_path)
    permitted(directory, epoch(0, generation=1)).record(rows=1)
    ahead = directory / "ledger" / ".000000000009.json.00c0ffee"
    for draft in (ahead, ahead.with_name(".000000000002.json.7ddca4bf")):
        draft.write_bytes(b"[")

    permitted(directory, epoch(1, generation=2)).record(rows=1)

    assert sorted(path.name for path in ahead.parent.iterdir()) == [ahead.name, "000000000002.json"]


def test_a_run_whose_draft_of_a_ledger_was_tidied_up_learns_that_it_was_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = sink_directory(tmp_path)
    zombie = permitted(directory, epoch(0, generation=1))

    def succeed() -> None:
        for number in range(3):
            permitted(directory, epoch(number, generation=2)).record(rows=1)

    asleep_before(monkeypatch, "engine.delivery.durable:link", succeed)
    with pytest.raises(SupersededError) as refused:
        zombie.record(rows=1)

    assert refused.value.hint
    assert [entry.epoch for entry in read_ledger(directory)] == [0, 1, 2]
    assert [path.name for path in (directory / "ledger").iterdir()] == ["000000000003.json"]


def test_a_late_cleaning_up_leaves_the_segments_of_the_successor(tmp_path: Path) -> None:
    restored = epoch(3, 2, "two", (("one", 2),))
    successor_segments = [segment_path(tmp_path, epoch(4, 2), 0), segment_path(tmp_path, restored, 0)]
    abandoned_segment = segment_path(tmp_path, epoch(3, 1), 0)
    for path in (*successor_segments, abandoned_segment):
        path.touch()

    drop_segments(tmp_path, epoch(3, generation=1))

    assert not abandoned_segment.exists()
    assert all(path.exists() for path in successor_segments)


@pytest.mark.parametrize(("newest", "says"), [(2, SupersededError), (1, UnwritableTargetError)])
def test_a_run_whose_segments_were_tidied_up_learns_that_it_was_replaced(
    tmp_path: Path, newest: int, says: type[EngineError]
) -> None:
    directory = sink_directory(tmp_path)
    (tmp_path / "state" / "generation").write_text(f"{newest}\n")

    segment = segment_path(directory, epoch(3, generation=1), 0)
    drop_segments(directory, epoch(3, newest))

    with pytest.raises(says), staging(directory, epoch(3, generation=1)):
        segment.touch()


def test_a_restored_run_drops_the_segments_of_the_history_it_left(tmp_path: Path) -> None:
    segment = segment_path(tmp_path, epoch(9, 1), 0)
    segment.touch()

    drop_segments(tmp_path, epoch(3, 2, "two", (("one", 2),)))

    assert not segment.exists()


def test_files_of_the_successor_belong_to_no_abandoned_lineage(tmp_path: Path) -> None:
    for number, lineage in [(2, "one"), (3, "one"), (4, "one"), (3, "two"), (4, "two"), (5, "two")]:
        decide_manifest(tmp_path, EpochManifest(lineage, number, "", 1, ()))

    manifests = abandoned_manifests(tmp_path, epoch(3, 1, "two", (("one", 2),)))

    assert [(manifest.lineage, manifest.epoch) for manifest in manifests] == [("one", 3), ("one", 4)]


def test_a_draft_that_is_still_being_written_spoils_no_file(tmp_path: Path) -> None:
    target = tmp_path / "x"

    def build_slowly(draft: Path) -> None:
        with draft.open("wb") as file:
            file.write(b"half")
            file.flush()
            publish(target, lambda other_draft: other_draft.write_bytes(b"half and half"), generation=2, decided_by=2)
            assert target.read_bytes() == b"half and half"
            file.write(b" and half")

    publish(target, build_slowly, generation=1, decided_by=1)

    assert target.read_bytes() == b"half and half"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_draft_that_a_killed_run_has_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".x.1.draft").write_bytes(b"ha")

    publish(tmp_path / "x", lambda draft: draft.write_bytes(b"half"), generation=3, decided_by=1)

    assert [path.name for path in tmp_path.iterdir()] == ["x"]


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("is_killed", [False, True], ids=["restored", "restored and killed"])
@pytest.mark.parametrize(
    "where",
    [
        "engine.connectors.files.rolling_sink:decide_manifest",
        "engine.connectors.files.rolling_sink:join_segments",
        "engine.delivery.publish:sync_file",
        "engine.delivery.publish:link",
        "engine.connectors.files.rolling_sink:WritePermit.record",
    ],
)
def test_a_history_that_was_left_publishes_nothing_after_a_restore(
    where: str, is_killed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = sink_directory(tmp_path)
    of = table("filesystem", NUMBERS, path=tmp_path / "out", type="sink", format="json")

    def restore(generation: int) -> None:
        (tmp_path / "state" / "generation").write_text(f"{generation}\n")
        restored = epoch(1, generation, "two", (("one", 0),))
        take(sink(of, directory), restored, [batch(NUMBERS, (7, "new"))])

    def kill(*_: object) -> None:
        raise Killed

    def meanwhile() -> None:
        if not is_killed:
            restore(2)
            return
        with monkeypatch.context() as patched:
            patched.setattr("engine.connectors.files.rolling_sink.plan", kill)  # after what was left is withdrawn
            with pytest.raises(Killed):
                restore(2)

    take(sink(of, directory), epoch(0, 1), [batch(NUMBERS, (0, "both"))])
    asleep_before(monkeypatch, where, meanwhile)

    with pytest.raises(SupersededError):
        take(sink(of, directory), epoch(1, 1), [batch(NUMBERS, (1, "old"))])
    restore(3)

    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["0000000000-one.json", "0000000001-two.json"]
