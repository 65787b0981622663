"""The golden cases, each run in four ways that must all agree with the golden file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import pytest

from engine.checkpoints.rescale import repartition
from engine.spark.progress import EpochReport
from engine.spark.run import Control, RunSpec, run_in
from engine.udf.declared import UdfFile
from tests.golden.folding import KEYS, folded_rows, in_seconds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
CASES = sorted(path.stem for path in (HERE / "cases").glob("*.sql"))


def script(case: str, output: Path) -> str:
    text = (HERE / "cases" / f"{case}.sql").read_text()
    return Template(text).substitute(inputs=HERE / "inputs", output=output)


def rows(case: str, path: Path) -> Counter[str]:
    """The rows of a file, or what its changes come to."""
    lines = path.read_text().splitlines()
    if case == "debezium_pass_through" and path.parent != HERE / "outputs":
        lines = in_seconds(lines)
    if case in KEYS:
        near = (HERE / "outputs" / f"{case}.json").read_text().splitlines() if case == "every_aggregate" else []
        return folded_rows(case, lines, near)
    return Counter(json.dumps(json.loads(line), sort_keys=True) for line in lines)


def golden(case: str) -> Counter[str]:
    return rows(case, HERE / "outputs" / f"{case}.json")


def epoch_rows(case: str) -> int:
    text = (HERE / "cases" / f"{case}.sql").read_text()
    return 20 if "impulse.json" in text else 150 if "aggregate_updates.json" in text else 1500


def functions(case: str) -> tuple[UdfFile, ...]:
    path = HERE / "cases" / f"{case}.py"
    return (UdfFile(path.name, path.read_text()),) if path.exists() else ()


def spec(case: str, folder: Path, parallelism: int = 1, max_epoch_rows: int | None = None) -> RunSpec:
    sql = script(case, folder / "output.json")
    return RunSpec(
        case, sql, folder / "state", parallelism=parallelism, max_epoch_rows=max_epoch_rows, udfs=functions(case)
    )


def run_until_epoch(spark: SparkSession, what: RunSpec, last: int) -> str:
    control = Control()

    def stop(report: EpochReport) -> None:
        if report.epoch >= last:
            control.stop("checkpoint")

    return run_in(spark, what, control, stop)


def kill_in_epoch(what: RunSpec, epoch: int, folder: Path) -> None:
    """Run in a process of its own, which is killed with its JVM while the sink takes an epoch."""
    file = folder / "killed.sql"
    file.write_text(what.sql)
    command = [
        sys.executable,
        "-m",
        "engine",
        "run",
        str(file),
        "--state-dir",
        str(what.state_dir),
        "--set",
        "quick=true",
    ]
    for one in what.udfs:
        command += ["--udf", str(HERE / "cases" / one.name)]
    command += ["--max-epoch-rows", str(what.max_epoch_rows), "--json-progress"]
    armed = {**os.environ, "ARROYO_FAULT": f"after_write:{epoch}", "ARROYO_FAULTS_ALLOWED": "1"}
    ended = subprocess.run(command, env=armed, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == -9, ended.stderr


@pytest.mark.parametrize("case", CASES)
def test_straight_through(spark: SparkSession, case: str, tmp_path: Path) -> None:
    assert run_in(spark, spec(case, tmp_path), Control()) == "finished"

    assert rows(case, tmp_path / "output.json") == golden(case)


@pytest.mark.parametrize("case", CASES)
def test_in_several_epochs(spark: SparkSession, case: str, tmp_path: Path) -> None:
    seen: list[EpochReport] = []
    what = spec(case, tmp_path, max_epoch_rows=epoch_rows(case))

    assert run_in(spark, what, Control(), seen.append) == "finished"

    assert len(seen) >= 5
    assert rows(case, tmp_path / "output.json") == golden(case)


@pytest.mark.parametrize("case", CASES)
def test_stopped_half_way_and_restored(spark: SparkSession, case: str, tmp_path: Path) -> None:
    what = spec(case, tmp_path, max_epoch_rows=epoch_rows(case))

    assert run_until_epoch(spark, what, 2) == "stopped"
    assert rows(case, tmp_path / "output.json") != golden(case)
    assert run_in(spark, what, Control()) == "finished"

    assert rows(case, tmp_path / "output.json") == golden(case)


@pytest.mark.parametrize("case", CASES)
def test_killed_half_way_and_restored(spark: SparkSession, case: str, tmp_path: Path) -> None:
    what = spec(case, tmp_path, max_epoch_rows=epoch_rows(case))

    kill_in_epoch(what, 3, tmp_path)
    assert run_in(spark, what, Control()) == "finished"

    assert rows(case, tmp_path / "output.json") == golden(case)


@pytest.mark.parametrize("case", CASES)
def test_restored_at_another_parallelism(spark: SparkSession, case: str, tmp_path: Path) -> None:
    narrow = spec(case, tmp_path, max_epoch_rows=epoch_rows(case))
    wide = spec(case, tmp_path, parallelism=2, max_epoch_rows=epoch_rows(case))

    assert run_until_epoch(spark, narrow, 2) == "stopped"
    repartition(narrow.state_dir, 2, lambda: spark)
    assert run_in(spark, wide, Control()) == "finished"

    assert rows(case, tmp_path / "output.json") == golden(case)
