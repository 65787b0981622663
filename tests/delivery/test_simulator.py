"""Schedules by chance over the real sinks; `python -m tests.delivery.simulator` plays more of them."""

from __future__ import annotations

import os

import pytest

from tests.delivery.mutants import MUTANTS, replaced
from tests.delivery.simulator import Wrong, play

SCHEDULES = int(os.environ.get("SIMULATED_SCHEDULES", "2000"))
"""How many in all: a hundred thousand where every change is tested."""
PARTS = 20
ENOUGH = 2000
FIRST_SEEN_IN = {"all_segments_are_dropped": 669, "drafts_are_shared": 562, "what_is_newer_is_abandoned": 150}
"""The first schedules that show what few of them do. They are tried before all others."""

# a driver that is killed closes no file, and its files live on with the process
pytestmark = [
    pytest.mark.usefixtures("open_files_are_noticed_here"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.timeout(900),
]


@pytest.mark.parametrize("part", range(PARTS))
def test_no_schedule_loses_or_doubles_a_row(part: int) -> None:
    for seed in range(part, SCHEDULES, PARTS):
        play(("plain", "rolling")[part % 2], seed)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_sink_that_leaves_something_out_is_found_out(mutant: str) -> None:
    with replaced(MUTANTS[mutant]()):
        assert any(_is_wrong(seed) for seed in (FIRST_SEEN_IN.get(mutant, 0), *range(ENOUGH)))


def _is_wrong(seed: int) -> bool:
    try:
        play("plain", seed)
    except Wrong:
        return True
    return False
