from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.chaos.check import judge
from tests.chaos.events import KEYS, make_events, numbers_of
from tests.chaos.targets import TARGETS, Part

GOOD = re.compile(r"\d+ events, 5 kills, \d zombies: 0 lost, 0 doubled, 0 out of order")


def loop_of(sink: str, root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.chaos", sink, "--cycles", "5", "--epoch-rows", "500", "--root", str(root)]
    return subprocess.run([*command, *options], capture_output=True, text=True, timeout=800, check=False)


@pytest.mark.system
@pytest.mark.parametrize("sink", sorted(TARGETS))
def test_five_kills_and_two_zombies_change_nothing(sink: str, tmp_path: Path) -> None:
    process = loop_of(sink, tmp_path)

    assert process.returncode == 0, process.stdout + process.stderr
    assert GOOD.fullmatch(process.stdout.splitlines()[-1]), process.stdout


@pytest.mark.system
@pytest.mark.parametrize("sink", ["filesystem", "s3", "delta", "kafka", "kafka-parallel"])
def test_without_a_ledger_the_loop_fails(sink: str, tmp_path: Path) -> None:
    process = loop_of(sink, tmp_path, "--ledger", "off", "--cycles", "12")

    assert process.returncode == 1, process.stdout + process.stderr
    assert re.search(r" [1-9]\d* doubled", process.stdout.splitlines()[-1]), process.stdout


def part(*numbers: int, stream: str = "", place: str = "") -> Part:
    return Part(stream, place, np.array(numbers, np.int64))


def test_the_checker_sees_what_is_lost_doubled_foreign_and_out_of_order() -> None:
    assert str(judge([part(0, 1, 2)], 3)) == "0 lost, 0 doubled, 0 out of order"
    assert str(judge([part(0, 2)], 4)) == "2 lost, 0 doubled, 0 out of order"
    assert str(judge([part(0, 1), part(1, 1)], 2)) == "0 lost, 2 doubled, 0 out of order"
    assert str(judge([part(0, 7)], 1)) == "0 lost, 0 doubled, 0 out of order, 1 foreign"
    assert judge([part(*range(KEYS), KEYS + 1, 1 + 2 * KEYS, KEYS, 2 * KEYS)], 1).disordered == 0
    assert judge([part(KEYS, place="a"), part(0, place="b")], 1).disordered == 1
    assert judge([part(KEYS, place="b"), part(0, place="a")], 1).disordered == 0
    assert judge([part(KEYS, stream="a"), part(0, stream="b")], 1).disordered == 0


def test_an_event_that_was_changed_is_foreign() -> None:
    rows = pa.Table.from_batches([make_events(0, 10)])
    changed = rows.set_column(3, "body", pa.array(["x", *rows.column("body").to_pylist()[1:]]))

    assert numbers_of(rows)[1] == 0
    assert numbers_of(changed)[1] == 1
