"""Objects of a user's aggregate go on under other code and other packages where their version says so, and else stay
with what has made them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import pytest

from engine.errors import OtherQueryError, UpgradeRefusedError
from engine.spark.run.lifecycle import RunSpec
from engine.udf.declared import UdfFile
from tests.checkpoints.test_carry_over_with_spark import LAST, Pipeline, all_events, pipeline
from tests.checkpoints.test_upgrade_with_spark import upgrade
from tests.golden.folding import fold

__all__ = ["pipeline"]
pytestmark = pytest.mark.spark

HEADER = '# /// script\n# dependencies = ["pyarrow>={}"]\n# ///\n'
TOTAL = """
from engine.udf import udaf

@udaf{version}
class Total:
    def __init__(self) -> None:
        self.sum = 0

    def add(self, number: int) -> None:
        self.sum = {added}

    def finish(self) -> int:
        return self.sum
"""
QUERY = "INSERT INTO totals SELECT key, count(*) AS n, total(number) AS s FROM events GROUP BY key;"
OLD, OTHER_CODE = "self.sum + number", "number + self.sum"


@dataclass
class OfObjects(Pipeline):
    """A pipeline with a function of the user's."""

    functions: str = ""

    def spec(self, sql: str) -> RunSpec:
        return replace(super().spec(sql), udfs=(UdfFile("total.py", self.functions),))


def total(packages: str = "10", added: str = OLD, version: str = "") -> str:
    return HEADER.format(packages) + TOTAL.format(version=version, added=added)


def is_right(story: OfObjects) -> bool:
    counts, sums = Counter[str](), Counter[str]()
    for _, key, number in all_events():
        counts[key] += 1
        sums[key] += number
    rows = fold((story.folder / "totals").read_text().splitlines(), ["key"]).values()
    return {row["key"]: (row["n"], row["s"]) for row in rows} == {key: (counts[key], sums[key]) for key in counts}


@pytest.fixture
def story(pipeline: Pipeline) -> OfObjects:
    return OfObjects(pipeline.spark, pipeline.folder)


def test_objects_go_on_under_other_code_and_packages_of_the_same_version(story: OfObjects) -> None:
    story.functions = total(version="(state_version=1)")
    story.run(QUERY, LAST)

    story.functions = total("11", OTHER_CODE, "(state_version=1)")
    upgrade(story, QUERY)

    assert is_right(story)


def test_objects_of_other_packages_are_left_alone(story: OfObjects) -> None:
    story.functions = total()
    story.run(QUERY, LAST)

    story.functions = total("11")
    with pytest.raises(OtherQueryError):
        story.run(QUERY)
    with pytest.raises(UpgradeRefusedError, match="it needs pyarrow>=11 instead of pyarrow>=10"):
        upgrade(story, QUERY)
    story.functions = total()
    story.run(QUERY)

    assert is_right(story)
