"""States made by the code of an earlier day go on, and end as if that code had gone on itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kept.cases import CASES, output_of

HERE = Path(__file__).parent
STATES = sorted(HERE.glob("*/*.tar.xz"))
INPUTS = HERE.parent / "golden" / "inputs"


class Player:
    """A process that plays state after state in its working directory: to start a JVM costs as much as a case. Each
    state has a path that none had before it, and finds in the working directory only what belongs to it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.errors, self.count = folder, folder.with_suffix(".stderr"), 0
        self.process: subprocess.Popen[str] | None = None
        folder.mkdir()
        (folder / "inputs").symlink_to(INPUTS)

    def running(self) -> subprocess.Popen[str]:
        """The process, a new one if there is none: a state that has ended it says nothing about the next."""
        if self.process is None or self.process.poll() is not None:
            with self.errors.open("w") as errors:
                self.process = subprocess.Popen(
                    [sys.executable, "-m", "tests.kept.play", "serve"],
                    cwd=self.folder,
                    env=os.environ | {"PYTHONPATH": str(HERE.parents[1])},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                )
        return self.process

    def play(self, verb: str, archive: Path) -> None:
        """Unpack a state, and go on from it to the end."""
        self.count += 1
        for path in self.folder.iterdir():
            if path.name not in ("inputs", "states", "logs"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        with tarfile.open(archive) as packed:
            packed.extractall(self.folder, filter="data")
        state = f"states/{self.count}"
        (self.folder / "states").mkdir(exist_ok=True)
        (self.folder / "state").rename(self.folder / state)

        process = self.running()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([verb, name_of(archive), state]) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        assert answer == "null\n", json.loads(answer) if answer else self.errors.read_text()


@pytest.fixture(scope="module")
def player(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Player]:
    player = Player(tmp_path_factory.mktemp("kept") / "here")
    yield player
    if player.process is not None:
        player.process.communicate()


@pytest.mark.parametrize("verb", ["finish", "restore"])
@pytest.mark.parametrize("archive", STATES, ids=lambda path: f"{path.parent.name}-{name_of(path)}")
def test_a_state_of_an_earlier_day_goes_on(player: Player, archive: Path, verb: str) -> None:
    player.play(verb, archive)

    assert output_of(player.folder) == json.loads((player.folder / "expected.json").read_text())


def test_every_case_is_kept() -> None:
    assert {name_of(path) for path in STATES} == set(CASES)


def name_of(archive: Path) -> str:
    return archive.name.partition(".")[0]
