"""Each kind of damage to a state or a savepoint is named, with its code and the file, and nothing is changed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.checkpoints.restore import restore
from engine.inspection.attempts import Kind
from engine.inspection.find import find_damage
from tests.inspection.conftest import Kept
from tests.kept.cases import CASES

Harm = Callable[[Path], object]


def emptied(pattern: str) -> Harm:
    return lambda state: _only(state, pattern).write_bytes(b"")


def cut(pattern: str, keep: float = 0.6) -> Harm:
    """The file ends too early, and has no sums that would tell."""

    def harm(state: Path) -> None:
        path = _only(state, pattern)
        path.write_bytes(path.read_bytes()[: int(path.stat().st_size * keep)])
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)

    return harm


def flipped(pattern: str, *, with_sums: bool = True) -> Harm:
    def harm(state: Path) -> None:
        path = _only(state, pattern)
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 4
        path.write_bytes(content)
        if not with_sums:
            path.with_name(f".{path.name}.crc").unlink()

    return harm


def deleted(pattern: str) -> Harm:
    def harm(state: Path) -> None:
        path = _only(state, pattern)
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()

    return harm


def written(pattern: str, change: Callable[[str], str]) -> Harm:
    """Another text, as somebody might write it: without sums."""

    def harm(state: Path) -> None:
        path = _only(state, pattern)
        path.write_text(change(path.read_text()))
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)

    return harm


def replaced(old: str, new: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    return change


def _only(state: Path, pattern: str) -> Path:
    (path,) = state.glob(pattern)
    return path


def noted(name: str, text: str) -> Harm:
    return lambda state: (state / "checkpoint" / name).write_text(text)


def ahead(state: Path) -> None:
    for folder, number in (("offsets", "4"), ("offsets", "3"), ("commits", "3")):
        (state / "checkpoint" / folder / number).unlink()


LEDGER = "sinks/tumbles_*/ledger/*.json"
DAMAGE: tuple[tuple[str, str, Harm, Kind], ...] = (
    ("an empty plan", "windows", emptied("checkpoint/offsets/3"), Kind.PLAN),
    ("a cut plan", "windows", cut("checkpoint/offsets/4", 0.8), Kind.PLAN),
    ("a flipped plan", "windows", flipped("checkpoint/offsets/3"), Kind.PLAN),
    (
        "a plan without its last source",
        "windows",
        written("checkpoint/offsets/4", lambda t: t.rsplit("\n", 1)[0]),
        Kind.PLAN,
    ),
    ("the plan of the newest epoch is missing", "windows", deleted("checkpoint/offsets/3"), Kind.PLAN_LOST),
    ("the plan before it is missing", "open_files", deleted("checkpoint/offsets/2"), Kind.PLAN),
    ("the commit before it is missing", "open_files", deleted("checkpoint/commits/2"), Kind.COMMIT),
    ("an empty commit", "windows", emptied("checkpoint/commits/3"), Kind.COMMIT),
    ("a flipped commit", "windows", flipped("checkpoint/commits/3"), Kind.COMMIT),
    ("a cut commit of the epoch before", "windows", cut("checkpoint/commits/2"), Kind.COMMIT),
    ("two epochs are begun", "windows", deleted("checkpoint/commits/3"), Kind.COMMITS_LOST),
    ("no metadata", "windows", deleted("checkpoint/metadata"), Kind.IDENTITY),
    ("empty metadata", "windows", emptied("checkpoint/metadata"), Kind.IDENTITY),
    ("a flipped changelog", "windows", flipped("checkpoint/state/0/0/4_*.changelog"), Kind.STATE_FILE),
    ("one without sums", "windows", flipped("checkpoint/state/0/0/4_*.changelog", with_sums=False), Kind.STATE_FILE),
    ("an empty changelog", "windows", emptied("checkpoint/state/1/0/2_*.changelog"), Kind.STATE_FILE),
    ("a cut changelog", "windows", cut("checkpoint/state/1/0/2_*.changelog"), Kind.STATE_FILE),
    ("a missing changelog", "windows", deleted("checkpoint/state/2/0/3_*.changelog"), Kind.STATE_LOST),
    ("the newest changelog is missing", "windows", deleted("checkpoint/state/2/0/4_*.changelog"), Kind.STATE_LOST),
    ("a partition is missing", "windows", deleted("checkpoint/state/1/0"), Kind.STATE_LOST),
    ("the whole state is missing", "windows", deleted("checkpoint/state"), Kind.STATE_LOST),
    ("a flipped snapshot", "updating_joins", flipped("checkpoint/state/0/0/1_*.zip"), Kind.STATE_FILE),
    ("no snapshot", "updating_joins", deleted("checkpoint/state/0/0/1_*.zip"), Kind.STATE_LOST),
    ("a cut snapshot", "updating_joins", cut("checkpoint/state/0/0/1_*.zip"), Kind.STATE_FILE),
    ("a flipped table", "updating_joins", flipped("checkpoint/state/1/0/SSTs/*.sst", with_sums=False), Kind.STATE_FILE),
    ("a missing table", "updating_joins", deleted("checkpoint/state/1/0/SSTs/*.sst"), Kind.STATE_FILE),
    ("no metadata of an operator", "windows", deleted("checkpoint/state/0/_metadata/metadata"), Kind.OPERATOR),
    (
        "no schema of an operator",
        "updating_joins",
        deleted("checkpoint/state/0/_stateSchema/default/0_*"),
        Kind.OPERATOR,
    ),
    ("no schema of a window", "windows", deleted("checkpoint/state/2/0/_metadata/schema"), Kind.OPERATOR),
    (
        "an unfinished layout",
        "windows",
        written("checkpoint/offsets/4", replaced('partitions":"1"', 'partitions":"8"')),
        Kind.LAYOUT,
    ),
    ("sums that are none", "windows", emptied("checkpoint/offsets/.3.crc"), Kind.SUM),
    ("a cut note of what is withheld", "windows", noted("withheld.json", '{"0": {"1": [[1, 2]'), Kind.WITHHELD),
    ("one that makes no sense", "windows", noted("withheld.json", '{"0": {"1": [[1, "a"]]}}'), Kind.WITHHELD),
    ("a cut note of what was kept", "windows", noted("forms.json", '{"0": ["8a'), Kind.FORMS),
    ("one that is no list", "windows", noted("forms.json", '{"0": "8a"}'), Kind.FORMS),
    ("a list of panes of another version", "windows", noted("panes.json", '{"format": 2}'), Kind.PANES),
    ("an unfinished swap", "windows", lambda state: (state / "incoming").mkdir(), Kind.SWAP),
    ("no pipeline", "windows", deleted("pipeline.json"), Kind.QUERY),
    ("a cut pipeline", "windows", cut("pipeline.json"), Kind.QUERY),
    (
        "another width",
        "windows",
        written("pipeline.json", replaced('"parallelism": 1', '"parallelism": 9')),
        Kind.WIDTH,
    ),
    ("no lineage", "windows", deleted("lineage.json"), Kind.LINEAGE),
    ("another lineage", "windows", written("lineage.json", replaced("0591", "0592")), Kind.LEDGER_FOREIGN),
    ("no generation", "windows", deleted("generation"), Kind.GENERATION),
    ("a generation that is none", "windows", written("generation", lambda _: "?"), Kind.GENERATION),
    ("a generation that is behind", "windows", written("generation", lambda _: "0"), Kind.GENERATION),
    ("an owner that is none", "windows", lambda state: (state / "owner.json").write_text("{}"), Kind.OWNER),
    ("a cut note", "windows", cut("watermarks/*/*.json"), Kind.NOTE),
    ("a cut ledger", "windows", cut(LEDGER), Kind.LEDGER),
    ("no ledger", "windows", deleted(LEDGER), Kind.LEDGER),
    ("an old copy of the checkpoint", "windows", ahead, Kind.LEDGER_AHEAD),
    ("another range", "windows", written("checkpoint/offsets/3", replaced("6086", "6087")), Kind.RANGE),
    ("no manifest", "open_files", deleted("sinks/rolling_*/manifests/000000000003-*"), Kind.MANIFEST),
    ("a cut manifest", "open_files", cut("sinks/rolling_*/manifests/000000000003-*"), Kind.MANIFEST),
    ("a flipped segment", "open_files", flipped("sinks/lines_*/segments/000000000003-*/*"), Kind.SEGMENT),
    ("a missing segment", "open_files", deleted("sinks/lines_*/segments/000000000003-*"), Kind.SEGMENT),
)
SAVEPOINT_DAMAGE: tuple[tuple[str, Harm, Kind], ...] = (
    ("no manifest", deleted("manifest.json"), Kind.SAVEPOINT),
    ("a cut manifest", cut("manifest.json"), Kind.SAVEPOINT),
    ("another epoch", written("manifest.json", replaced('"epoch": 1', '"epoch": 0')), Kind.SAVEPOINT),
    ("another lineage", written("manifest.json", replaced("0591", "0592")), Kind.SAVEPOINT),
    ("a flipped file", flipped("checkpoint/state/0/0/2_*.changelog"), Kind.SAVEPOINT_FILE),
    ("a missing file", deleted("checkpoint/offsets/1"), Kind.SAVEPOINT_FILE),
    ("an empty file", emptied("checkpoint/commits/1"), Kind.SAVEPOINT_FILE),
    ("another parallelism", written("manifest.json", replaced('"parallelism": 1', '"parallelism": 2')), Kind.SAVEPOINT),
)


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("case", CASES)
def test_a_sound_state_and_its_savepoint_have_none(kept: Kept, case: str) -> None:
    state = kept(case)

    assert find_damage(state, reads_rows=True) == []
    assert find_damage(state / "savepoints" / "kept", reads_rows=True) == []


@pytest.mark.parametrize("case", CASES)
def test_a_state_that_was_restored_has_none(kept: Kept, case: str) -> None:
    """It is of a new history, has no sums, and its sinks are ahead of it."""
    state = kept(case)
    restore(state / "savepoints" / "kept", state, allow_replay=True)

    assert find_damage(state, reads_rows=True) == []


@pytest.mark.parametrize(("case", "harm", "kind"), [part[1:] for part in DAMAGE], ids=[part[0] for part in DAMAGE])
def test_damage_to_a_state_is_named(kept: Kept, case: str, harm: Harm, kind: Kind) -> None:
    state = kept(case)
    harm(state)
    before = contents(state)

    damages = find_damage(state)

    assert kind in {damage.kind for damage in damages}, damages
    assert contents(state) == before


@pytest.mark.parametrize(("harm", "kind"), [p[1:] for p in SAVEPOINT_DAMAGE], ids=[p[0] for p in SAVEPOINT_DAMAGE])
def test_damage_to_a_savepoint_is_named(kept: Kept, harm: Harm, kind: Kind) -> None:
    savepoint = kept("windows") / "savepoints" / "kept"
    harm(savepoint)

    assert kind in {damage.kind for damage in find_damage(savepoint)}


def test_every_kind_is_met_and_has_a_code_of_its_own() -> None:
    met = {kind for *_, kind in DAMAGE} | {kind for *_, kind in SAVEPOINT_DAMAGE}

    assert set(Kind) - met == {Kind.ACCESS, Kind.SOURCE_LOG}  # the next tests
    assert len({kind.value.code for kind in Kind}) == len(Kind)


def test_an_empty_log_of_a_source_is_named(kept: Kept) -> None:
    state = kept("windows")
    (state / "checkpoint/sources/0").mkdir(parents=True)
    (state / "checkpoint/sources/0/0").write_text("v1\n{}")
    assert find_damage(state) == []
    (state / "checkpoint/sources/0/0").write_text("")

    assert [damage.kind for damage in find_damage(state)] == [Kind.SOURCE_LOG]


def test_an_unreadable_file_is_named(kept: Kept) -> None:
    state = kept("windows")
    (state / "checkpoint/metadata").unlink()
    (state / "checkpoint/metadata").mkdir()

    assert {damage.kind for damage in find_damage(state)} <= {Kind.ACCESS, Kind.IDENTITY}
    assert find_damage(state)


def test_a_run_that_goes_on_meanwhile_is_no_damage(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger was read, then an epoch was planned, taken and committed, then the rest was read."""
    state, looks = kept("windows"), iter([True, False])
    plan = state / "checkpoint/offsets/5"

    def look(*_: object, **__: object) -> list[object]:
        if next(looks):
            shutil.copy(state / "checkpoint/offsets/4", plan)
            return ["torn"]
        return []

    monkeypatch.setattr("engine.inspection.find._look", look)

    assert find_damage(state) == []


def test_the_newest_commit_may_be_missing_where_nothing_is_planned_after_it(kept: Kept) -> None:
    """Its epoch is run again, with the same result."""
    state = kept("open_files")
    (state / "checkpoint/commits/3").unlink()

    assert find_damage(state) == []


def test_a_manifest_names_all_that_its_epoch_needs(kept: Kept) -> None:
    savepoint = kept("windows") / "savepoints" / "kept"
    manifest = json.loads((savepoint / "manifest.json").read_text())
    manifest["files"] = [file for file in manifest["files"] if "state/0/0/2_" not in file["path"]]
    (savepoint / "manifest.json").write_text(json.dumps(manifest))

    (damage,) = find_damage(savepoint)

    assert "does not name checkpoint/state/0/0/2_" in damage.fault
