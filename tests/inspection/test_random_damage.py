"""Files that are flipped, cut or deleted at random: each is named, or is harmless, or is one of those of which it is
written down that nothing can tell.

RANDOM_DAMAGE sets how often (docs/decisions/damage-is-found-by-comparing.md has the table of what is not noticed).
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.checkpoints import manifest as contents
from engine.checkpoints import spark_log
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.manifest import Origin, read_manifest
from engine.delivery.file_ledger import newest_ledger, read_ledger
from engine.delivery.manifests import find_manifest
from engine.inspection.attempts import has_sums
from engine.inspection.find import find_damage
from engine.inspection.state_files import read_changes, read_table
from engine.inspection.store import read_snapshot
from tests.inspection.conftest import Kept

COUNT = int(os.environ.get("RANDOM_DAMAGE", "90"))
SEED = int(os.environ.get("RANDOM_DAMAGE_SEED", "1"))
CASES = ("windows", "updating_joins", "open_files")
UNNOTICED = {
    r"pipeline\.json": "a run compares it with its own script, and goes on or is refused",
    r"lineage\.json": "the number of an earlier epoch: there is nothing to compare it with",
    r"generation": "a larger one is a run that nobody has seen",
    r"watermarks/.*\.json": "a note has no sum",
    r"sinks/.*/ledger/.*\.json": "numbers of a ledger have no sum",
    r"sinks/.*/manifests/.*\.json": "names and numbers of a manifest have no sum",
}
UNNOTICED_WITHOUT_SUMS = UNNOTICED | {
    r"checkpoint/metadata": "the id of Spark's query",
    r"checkpoint/offsets/\d+": "times and settings in a plan",
    r"checkpoint/commits/\d+": "the watermark in a commit",
    r"checkpoint/state/.*(_metadata|_stateSchema)/.*": "a schema or the description of an operator",
}


def needed_files(state: Path) -> set[Path]:
    """All that the next run reads of a state."""
    paths, checkpoint = StatePaths(state), state / "checkpoint"
    epoch = spark_log.newest_commit(checkpoint)
    assert epoch is not None
    files = {checkpoint / file for file in contents.files_of(checkpoint, epoch)}
    plan = contents.plan_of_the_next(checkpoint, epoch)
    files |= {checkpoint / plan} if plan else set()
    files |= {path.with_name(f".{path.name}.crc") for path in files}
    files |= {paths.pipeline, paths.lineage, paths.generation, *paths.watermarks.rglob("*.json")}
    for sink in paths.sinks.iterdir():
        ledger, newest = newest_ledger(sink), read_ledger(sink)[-1]
        assert ledger is not None
        manifest = find_manifest(sink, newest.lineage, newest.epoch)
        files |= {ledger, sink / "manifests" / f"{newest.epoch:012d}-{newest.lineage}.json"}
        files |= {sink / path for path in manifest.needed} if manifest else set()
    return {path for path in files if path.exists()}


def harmed(path: Path, chance: random.Random) -> str:
    """What is done to a file."""
    content = bytearray(path.read_bytes())
    match chance.choices(("flip", "cut", "delete"), (8, 2, 1))[0]:
        case "flip" if content:
            place, bit = chance.randrange(len(content)), chance.randrange(8)
            content[place] ^= 1 << bit
            path.write_bytes(content)
            return f"bit {bit} of byte {place} is flipped"
        case "cut" if content:
            length = chance.randrange(len(content))
            path.write_bytes(content[:length])
            return f"it is cut to {length} bytes"
    path.unlink()
    return "it is deleted"


def says_the_same(path: Path, before: bytes, scratch: Path) -> bool:
    """Whether a file that was harmed is read as it was."""
    if not path.exists():
        return False
    scratch.mkdir(exist_ok=True)
    old = scratch / path.name
    old.write_bytes(before)
    if path.name == "manifest.json":
        shutil.copy(path, scratch / "new.json")
        manifests = []
        for name in (path, old):
            shutil.copy(name, scratch / "manifest.json")
            shown = read_manifest(scratch)
            # what is only shown to people
            manifests.append(replace(shown, label=None, created_at=shown.created_at.min, origin=Origin(), operators=()))
        return manifests[0] == manifests[1]
    if path.suffix == ".json":
        return bool(json.loads(path.read_bytes()) == json.loads(before))
    if path.suffix == ".zip":
        return read_snapshot(path) == read_snapshot(old)
    if path.suffix == ".sst":
        return list(read_table(path)) == list(read_table(old))
    if path.suffix == ".changelog":
        return list(read_changes(path)) == list(read_changes(old))
    if path.suffix == ".crc":
        return has_sums(path.with_name(path.name[1:].removesuffix(".crc")))
    return path.read_bytes().split() == before.split()


def is_replayed(path: Path, *, is_begun: bool) -> bool:
    """Whether it is the newest file of a log that is gone: its epoch is planned or run again."""
    folder = path.parent.name
    return not path.exists() and ((folder == "offsets" and is_begun) or (folder == "commits" and not is_begun))


def unnoticed(
    root: Path, files: Collection[Path], table: dict[str, str], chance: random.Random, scratch: Path
) -> Iterator[str]:
    """Harm one file after the other, and put it back. What nobody would notice of it, though it matters."""
    epoch = spark_log.newest_commit(root / "checkpoint")
    for path in chance.choices(sorted(files), k=-(-COUNT // 9)):
        before = path.read_bytes()
        what = harmed(path, chance)
        damages = find_damage(root)
        within = str(path.relative_to(root))
        is_begun = path.parent.name == "offsets" and int(path.name.strip(".rc") or 0) > (epoch or 0)
        is_harmless = (
            bool(damages)
            or is_replayed(path, is_begun=is_begun)
            or (path.suffix == ".crc" and not path.exists())
            or any(re.fullmatch(pattern, within) for pattern in table)
            or says_the_same(path, before, scratch)
        )
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(before)
        if not is_harmless:
            yield f"{within}: {what}"
    assert find_damage(root) == []


@pytest.mark.parametrize("case", CASES)
def test_random_damage_of_a_state_is_reported_or_harmless(kept: Kept, tmp_path: Path, case: str) -> None:
    state = kept(case)
    files = needed_files(state)

    assert list(unnoticed(state, files, UNNOTICED, random.Random(f"{SEED} {case}"), tmp_path / "old")) == []


@pytest.mark.parametrize("case", CASES)
def test_without_sums_the_rows_of_the_state_are_looked_after_all_the_same(
    kept: Kept, tmp_path: Path, case: str
) -> None:
    """As in a state that was restored."""
    state = kept(case)
    for path in (state / "checkpoint").rglob("*.crc"):
        path.unlink()
    chance = random.Random(f"{SEED} {case} without sums")

    assert list(unnoticed(state, needed_files(state), UNNOTICED_WITHOUT_SUMS, chance, tmp_path / "old")) == []


@pytest.mark.parametrize("case", CASES)
def test_random_damage_of_a_savepoint_is_reported_or_harmless(kept: Kept, tmp_path: Path, case: str) -> None:
    savepoint = kept(case) / "savepoints" / "kept"
    files = [path for path in savepoint.rglob("*") if path.is_file()]

    assert list(unnoticed(savepoint, files, {}, random.Random(f"{SEED} {case} kept"), tmp_path / "old")) == []


@pytest.mark.parametrize("case", CASES)
def test_a_file_that_no_run_needs_may_be_anything(kept: Kept, case: str) -> None:
    state, chance = kept(case), random.Random(f"{SEED} {case} others")
    others = {path for path in state.rglob("*") if path.is_file() and "savepoints" not in path.parts}
    others -= needed_files(state)
    # a sum that is not there is made up, and a second plan is one more epoch that was begun
    others = {path for path in others if path.suffix != ".crc" and path.parent.name not in ("offsets", "commits")}

    for path in chance.choices(sorted(others), k=5) if others else ():
        path.write_bytes(b"?")

    assert find_damage(state) == []
