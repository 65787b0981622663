"""The corpus: every case does what its head says."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.errors import ScriptRefused
from engine.plan.explain import explain
from engine.spark.run.lifecycle import RunSpec
from engine.spark.run.run_spec import PLAIN_SETTINGS
from tests.corpus.case import INPUTS, MARKS, Case, all_cases, compiled, complaints
from tests.fusing import IS_FUSED
from tests.joined import Joined, played, run_to_end

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = all_cases()


def those(*questions: str) -> list[Case]:
    return [case for case in CASES if case.has(*questions)]


@pytest.mark.parametrize("case", those("plan"), ids=lambda case: case.name)
def test_a_script_has_the_plan_that_is_written_down(case: Case) -> None:
    assert explain(compiled(case).parts, "text") == case.path.with_suffix(".plan").read_text()


@pytest.mark.parametrize("case", those("error"), ids=lambda case: case.name)
def test_a_script_is_refused_with_all_errors_of_its_head(case: Case) -> None:
    assert complaints(case) == case.errors


@pytest.mark.parametrize("case", those(*MARKS), ids=lambda case: case.name)
def test_unsupported_sql_is_refused_and_not_misread(case: Case) -> None:
    with pytest.raises(ScriptRefused):
        compiled(case)


@pytest.fixture(scope="module")
def runs(spark: SparkSession, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Joined:
    """The runs of all cases that are played."""
    names = played(request, test_a_run_writes_the_rows_that_are_written_down)
    scripts = {case.name: partial(spec, case) for case in CASES if case.name in names}
    return Joined(scripts, partial(run_to_end, spark), tmp_path_factory.mktemp("corpus"))


@pytest.mark.parametrize("case", those("rows"), ids=lambda case: case.name)
def test_a_run_writes_the_rows_that_are_written_down(runs: Joined, case: Case) -> None:
    rows = written_rows(runs.folder_of(case.name))

    assert rows == Counter(case.path.with_suffix(".rows").read_text().splitlines())


def spec(case: Case, folder: Path) -> RunSpec:
    """A run of the case that writes into the folder."""
    sql = case.text.replace("$inputs", str(INPUTS)).replace("$output", str(folder / "output.json"))
    return RunSpec("corpus", sql, folder / "state", udfs=case.udfs, settings=replace(PLAIN_SETTINGS, fuse=IS_FUSED))


def written_rows(folder: Path) -> Counter[str]:
    """The lines that a run has written there; their order says nothing."""
    return Counter((folder / "output.json").read_text().splitlines())


def test_a_case_is_either_accepted_or_refused() -> None:
    both = [case.name for case in CASES if case.has("plan", "rows") and case.has("error", *MARKS)]

    assert both == []


def test_no_plan_and_no_rows_are_left_over() -> None:
    expected = {case.path.with_suffix(f".{kind}") for kind in ("plan", "rows") for case in those(kind)}

    assert {path for kind in ("plan", "rows") for path in Path(__file__).parent.rglob(f"*.{kind}")} == expected


def test_a_plan_is_short_enough_to_be_read() -> None:
    longest = 40

    assert [
        case.name for case in those("plan") if len(case.path.with_suffix(".plan").read_text().splitlines()) > longest
    ] == []


def test_every_attack_is_refused() -> None:
    attacks = [case for case in CASES if case.path.parent.name == "attacks"]

    assert sum(len(case.errors) for case in attacks) >= 100
    assert [case.name for case in attacks if not case.has("error") and "harmless" not in case.sentence] == []
