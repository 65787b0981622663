"""The page tells apart what has happened by the words in which it is told."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from engine.jobs.decisions.intend import describe_change
from engine.jobs.decisions.spec import Restore
from tests.jobs.builders import wanted

ENGINE = Path(__file__).parents[2] / "engine"
MOMENTS = (ENGINE / "web" / "src" / "pipeline" / "moments.ts").read_text()
FIRST = wanted()


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (r"^(?:(?:it was )?rolled back to )?version (\d+)\b", describe_change(None, FIRST)),
        (
            r"\b(?:restore of|it was told to go back to) savepoint ",
            describe_change(FIRST, replace(FIRST, restore=Restore("sp_1", 1))),
        ),
    ],
)
def test_received_values_are_distinguished_as_the_page_expects(pattern: str, said: str) -> None:
    assert f"/{pattern}/" in MOMENTS
    assert re.search(pattern, said)


def test_each_code_that_the_page_looks_for_is_one_that_something_is_told_with() -> None:
    sets = re.findall(r"new Set\(\[(.+)\]\)", MOMENTS)
    codes = re.findall(r'"([a-z_.]+)"', " ".join(sets))
    told = "".join(path.read_text() for path in ENGINE.rglob("*.py"))

    assert len(codes) == 5
    assert [code for code in codes if f'"{code}"' not in told] == []
