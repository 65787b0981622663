from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.checkpoints.places import Directory
from engine.checkpoints.whole_state import export_state, import_state, newest_epochs, read_state
from engine.errors import DamagedSavepointError, PlaceError, SavepointNotFoundError

pytestmark = pytest.mark.unit
ABOUT = {"pipeline_id": "pl_1", "move": "m1"}


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state with something of everything."""
    files = {
        "checkpoint/offsets/8": "planned",
        "checkpoint/commits/7": "committed",
        "checkpoint/state/0/.1.delta.crc": "sum",
        "sinks/out/ledger/000000000007.json": "[]",
        "generation": "4",
        "owner.json": '{"owner": "pl_1"}',
        "savepoints/sp_1/manifest.json": "{}",
        "logs/run.log": "said",
        "lock": "",
    }
    for name, text in files.items():
        path = tmp_path / "state" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "state" / "watermarks" / "clicks").mkdir(parents=True)
    return tmp_path / "state"


def below(folder: Path) -> dict[str, str | None]:
    return {
        path.relative_to(folder).as_posix(): path.read_text() if path.is_file() else None for path in folder.rglob("*")
    }


def test_a_state_arrives_as_it_was_without_what_stays(state: Path, tmp_path: Path) -> None:
    place, there = Directory(tmp_path / "place"), tmp_path / "elsewhere" / "pl_1"
    there.mkdir(parents=True)
    (there / "older").touch()

    assert export_state(state, place, ABOUT) == 6
    import_state(read_state(place), place, there)

    stays = ("savepoints", "logs", "lock")
    assert below(there) == {name: text for name, text in below(state).items() if name.split("/")[0] not in stays}
    assert newest_epochs(there) == newest_epochs(state) == (7, 8)
    assert [path.name for path in there.parent.iterdir()] == ["pl_1"]


def test_an_export_is_made_once_for_a_move_and_anew_for_the_next(state: Path, tmp_path: Path) -> None:
    place = Directory(tmp_path / "place")
    export_state(state, place, ABOUT)
    (state / "generation").write_text("5")

    export_state(state, place, ABOUT)
    assert (tmp_path / "place" / "generation").read_text() == "4"
    export_state(state, place, {**ABOUT, "move": "m2"})
    assert (tmp_path / "place" / "generation").read_text() == "5"
    assert read_state(place).about == {**ABOUT, "move": "m2"}
    with pytest.raises(PlaceError, match="another pipeline"):
        export_state(state, place, {**ABOUT, "pipeline_id": "pl_2"})


def test_state_that_changed_during_the_move_is_rejected_and_the_old_one_stays(state: Path, tmp_path: Path) -> None:
    place, there = Directory(tmp_path / "place"), tmp_path / "there" / "pl_1"
    there.mkdir(parents=True)
    export_state(state, place, ABOUT)
    whole = read_state(place)
    (tmp_path / "place" / "generation").write_text("9")

    with pytest.raises(DamagedSavepointError, match="generation"):
        import_state(whole, place, there)

    assert [path.name for path in there.parent.iterdir()] == ["pl_1"]


@pytest.mark.parametrize("path", ["../generation", "/etc/passwd", "savepoints/sp_1/x", "lock", "", "a/../../b"])
def test_a_manifest_cannot_name_what_is_not_below_the_state(state: Path, tmp_path: Path, path: str) -> None:
    place = Directory(tmp_path / "place")
    export_state(state, place, ABOUT)
    written = tmp_path / "place" / "manifest.json"
    manifest: dict[str, Any] = json.loads(written.read_text())
    manifest["files"][0]["path"] = path
    written.write_text(json.dumps(manifest))

    with pytest.raises(PlaceError, match="something else than a state"):
        read_state(place)


def test_a_place_of_a_savepoint_or_of_nothing_is_no_state(tmp_path: Path) -> None:
    place = Directory(tmp_path)
    with pytest.raises(SavepointNotFoundError):
        read_state(place)
    (tmp_path / "manifest.json").write_text('{"version": 1, "files": []}')
    with pytest.raises(PlaceError):
        read_state(place)
