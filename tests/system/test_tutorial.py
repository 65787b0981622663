"""The tutorial holds word by word: its blocks are played in order, from an empty folder on, with a new wheel."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.dag_runs import end_processes
from tests.tutorial_blocks import ROOT, TUTORIAL, Block, Shell, ShellError, read_blocks
from tests.tutorial_stand_ins import write_stand_ins

PAGE = TUTORIAL.read_text()
FIRST_HOUR = "by_hour/2026-01-01-00/_SUCCESS"


def test_every_block_of_the_tutorial_is_played_with_stand_ins(tmp_path: Path) -> None:
    outputs = play_with_stand_ins(read_blocks(PAGE), tmp_path)

    assert "arroyo 0.1.0" in "".join(outputs)
    assert len(outputs) == PAGE.count("\n```") / 2 > 10


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("make wheel", "make wheels"),
        ("constraints/python3.11.txt", "constraints/python3.txt"),
        ("[engine]", "[engines]"),
        ("counter % 7", "countr % 7"),
        ("--state-dir state", "--states state"),
        ("mkdir dags", "mkdir dag"),
        ("> dags/hourly.sql", "> hourly.sql"),
        ('DAGS_FOLDER="$PWD/dags"', 'DAGS_FOLDER="$PWD"'),
        ("import WatermarkSensor", "import WatermarksSensor"),
        ("arroyo delete orders", "arroyo remove orders"),
        ("airflow/arroyo/server.json", "arroyo/server.json"),
    ],
)
def test_a_tutorial_with_a_mistake_in_it_fails(right: str, wrong: str, tmp_path: Path) -> None:
    assert right in PAGE

    with pytest.raises(ShellError):
        play_with_stand_ins(read_blocks(PAGE.replace(right, wrong)), tmp_path)


def test_a_block_that_nobody_could_place_is_refused() -> None:
    with pytest.raises(ValueError, match="names no file"):
        read_blocks("Look at this:\n\n```python\nx = 1\n```\n")


@pytest.mark.timeout(3600)
def test_the_tutorial_holds_word_by_word_in_a_new_environment(tmp_path: Path) -> None:
    environment = {
        **plain_environment(),
        "HOME": str(tmp_path),
        "PATH": os.pathsep.join((f"{sys.base_prefix}/bin", plain_environment()["PATH"])),
        "PIP_CACHE_DIR": os.environ.get("PIP_CACHE_DIR", str(Path.home() / ".cache/pip")),
    }
    try:
        with Shell(ROOT, environment, limit=1800) as shell:
            outputs = {block.text: play(shell, block) for block in read_blocks(PAGE)}
    finally:
        end_processes(tmp_path)

    assert "arroyo 0.1.0" in output_of("arroyo --version", outputs)
    assert re.search(r"\b1800\b", output_of("airflow dags test", outputs))
    assert "Stopped" in output_of("arroyo show", outputs)


def output_of(command: str, outputs: Mapping[str, str]) -> str:
    [output] = [output for text, output in outputs.items() if command in text]
    return output


def play(shell: Shell, block: Block) -> str:
    """Play a block; what is endless until the first hour is complete."""
    return shell.play(block, lambda folder: (folder / FIRST_HOUR).exists())


def play_with_stand_ins(blocks: list[Block], place: Path) -> list[str]:
    """Play all blocks in a folder that looks like a clone, with commands that take no time."""
    clone = place / "clone"
    clone.mkdir()
    (clone / "constraints").symlink_to(ROOT / "constraints")
    write_stand_ins(place / "bin")
    environment = {
        **plain_environment(),
        "HOME": str(place),
        "PATH": f"{place / 'bin'}{os.pathsep}{plain_environment()['PATH']}",
    }
    with Shell(clone, environment, limit=120) as shell:
        return [play(shell, block) for block in blocks]


def plain_environment() -> dict[str, str]:
    """The environment of a reader: nothing of Airflow, of ours, of the tests or of this virtual environment."""
    ours = ("AIRFLOW", "ARROYO", "PYTEST", "PYTHON", "VIRTUAL_ENV", "SLICE", "MAKE", "MFLAGS")
    return {name: text for name, text in os.environ.items() if not name.startswith(ours)}
