"""Who may work on a state directory, and what is said to those who may not."""

from pathlib import Path

import pytest

from engine.checkpoints.claim import Claim, StatefulQuery, claim
from engine.checkpoints.doctor import examine
from engine.checkpoints.layout import StatePaths
from engine.errors import (
    ForeignStateError,
    OtherFormatError,
    OtherQueryError,
    StateInUseError,
    SupersededError,
    UnreadableStateError,
)


def take(
    paths: StatePaths,
    fingerprint: str = "f1",
    *,
    generation: int | None = None,
    force: bool = False,
    new: str = "L2",
    parallelism: int = 2,
    objects: tuple[tuple[str, str], ...] = (),
    takes_over: bool = False,
) -> Claim:
    """Claim, and let go at once."""
    state_claim = claim(
        paths,
        StatefulQuery("clicks", "SELECT 1", fingerprint, parallelism, objects=objects),
        generation=generation,
        force=force,
        takes_over=takes_over,
        new_lineage=lambda: new,
    )
    state_claim.release()
    return state_claim


def test_the_same_query_goes_on_in_the_same_history_with_a_new_generation(paths: StatePaths) -> None:
    first, second = take(paths), take(paths)

    assert (first.lineage, second.lineage) == ("L1", "L1")
    assert second.generation == first.generation + 1


def test_leftovers_of_a_run_killed_during_a_take_over_are_removed_by_the_next(paths: StatePaths) -> None:
    left = paths.logs / "skeleton-abc" / "checkpoint"
    left.mkdir(parents=True)
    (paths.logs / "spark.log").touch()

    take(paths)

    assert [path.name for path in paths.logs.iterdir()] == ["spark.log"]


def test_the_width_of_the_state_stays_whatever_is_asked_for(paths: StatePaths) -> None:
    assert take(paths, parallelism=8).parallelism == 2


def test_another_query_is_refused_and_nothing_is_changed(paths: StatePaths) -> None:
    before = {path: path.read_bytes() for path in paths.root.rglob("*") if path.is_file()}

    with pytest.raises(OtherQueryError, match="belongs to another query, that of 'clicks'"):
        take(paths, "f2")

    assert before == {path: path.read_bytes() for path in paths.root.rglob("*") if path.is_file()}


def test_objects_of_other_packages_are_another_querys_though_it_means_the_same(paths: StatePaths) -> None:
    old, new = (("longest", "c0de numpy>=1.26"),), (("longest", "c0de numpy>=2"),)
    take(paths, objects=old)  # a state of before nobody had written that down is its own

    assert not take(paths, objects=old).is_foreign
    with pytest.raises(OtherQueryError, match="belongs to another query"):
        take(paths, objects=new)
    assert take(paths, objects=new, takes_over=True).is_foreign
    assert not take(paths, objects=old).is_foreign


def test_state_in_a_former_format_is_refused_by_name(paths: StatePaths) -> None:
    with pytest.raises(OtherFormatError, match="written by another version"):
        take(paths, "f1+2")


def test_force_starts_another_query_empty_and_saves_the_old_state(paths: StatePaths) -> None:
    state_claim = take(paths, "f2", force=True)

    assert (state_claim.lineage, state_claim.parents) == ("L2", ())
    assert not any(paths.checkpoint.iterdir())
    assert (paths.root / "replaced" / "000001" / "checkpoint" / "commits" / "9").exists()
    assert take(paths, "f2").lineage == "L2"


def test_force_changes_nothing_for_the_same_query(paths: StatePaths) -> None:
    assert take(paths, force=True).lineage == "L1"
    assert (paths.checkpoint / "commits" / "9").exists()


def test_two_at_once_are_one_too_many(paths: StatePaths) -> None:
    state_claim = claim(paths, StatefulQuery("a", "", "f1", 1))

    with pytest.raises(StateInUseError):
        take(paths)

    state_claim.release()
    take(paths)


def test_a_generation_that_was_replaced_may_not_come_back(paths: StatePaths) -> None:
    take(paths, generation=7)

    with pytest.raises(SupersededError):
        take(paths, generation=6)


def test_a_directory_with_other_things_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()

    with pytest.raises(ForeignStateError, match=r"thesis\.tex"):
        take(StatePaths(tmp_path))

    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_is_no_state_directory(tmp_path: Path) -> None:
    (tmp_path / "state").touch()

    with pytest.raises(ForeignStateError, match="is a file"):
        take(StatePaths(tmp_path / "state"))


def test_a_sound_state_has_no_findings(paths: StatePaths) -> None:
    assert examine(paths) == []


@pytest.mark.parametrize(
    ("victim", "damage", "message"),
    [
        ("pipeline.json", "{", "is damaged"),
        ("lineage.json", "[]", "is damaged"),
        ("lineage.json", None, "is missing"),
        ("checkpoint/metadata", None, "is missing"),
        ("checkpoint/metadata", "", "is damaged"),
        ("checkpoint/offsets/9", "", "is damaged"),
        ("checkpoint/offsets/9", "v1\n{", "is damaged"),
        ("checkpoint/offsets/8", None, "is missing"),
        ("checkpoint/commits/9", "", "is damaged"),
        ("checkpoint/state/0/0/8_00000008-0000.zip", "", "cannot be read"),
        ("checkpoint/state/0/0/SSTs/000008.sst", None, "is missing"),
        ("checkpoint/state/0/0/9_00000009-0000.changelog", "", "is empty"),
    ],
)
def test_a_damaged_file_is_named_and_force_starts_empty(
    paths: StatePaths, victim: str, damage: str | None, message: str
) -> None:
    path = paths.root / victim
    path.unlink() if damage is None else path.write_text(damage)

    with pytest.raises(UnreadableStateError, match=message) as refused:
        take(paths)

    assert "restore a savepoint" in (refused.value.hint or "")
    assert take(paths, force=True).lineage == "L2"


def test_a_generation_that_makes_no_sense_is_refused(paths: StatePaths) -> None:
    paths.generation.write_text("many")

    with pytest.raises(UnreadableStateError, match="generation"):
        take(paths)


def test_without_its_last_commit_a_state_is_sound_the_epoch_runs_again(paths: StatePaths) -> None:
    (paths.checkpoint / "commits" / "9").unlink()

    assert examine(paths) == []


def test_the_owner_of_targets_stays_when_the_state_is_given_up(tmp_path: Path) -> None:
    paths = StatePaths(tmp_path / "state")
    first = claim(paths, StatefulQuery("a", "SELECT 1", "f1", 1), owner="pl_a")
    first.release()
    second = claim(paths, StatefulQuery("a", "SELECT 2", "f2", 1), force=True)
    second.release()

    assert (first.owner, second.owner) == ("pl_a", "pl_a")
    assert first.lineage != second.lineage
