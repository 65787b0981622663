"""The golden cases: their scripts, how they are run, and the rows that must come out."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from string import Template

from engine.spark.run.lifecycle import RunSpec
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.udf.declared import UdfFile
from tests.fusing import IS_FUSED
from tests.golden.folding import KEYS, folded_rows, in_seconds

HERE = Path(__file__).parent
CASES = sorted(path.stem for path in (HERE / "cases").glob("*.sql"))


def spec(case: str, folder: Path, *, in_epochs: bool = False, parallelism: int = 1) -> RunSpec:
    """A run of the case, in as few epochs as can be or in several."""
    text = (HERE / "cases" / f"{case}.sql").read_text()
    sql = Template(text).substitute(inputs=HERE / "inputs", output=output(folder))
    rows = 20 if "impulse.json" in text else 150 if "aggregate_updates.json" in text else 1500
    return RunSpec(
        case,
        sql,
        folder / "state",
        parallelism=parallelism,
        udfs=_functions(case),
        settings=replace(PLAIN_SETTINGS, max_epoch_rows=rows if in_epochs else None, fuse=IS_FUSED),
    )


def output(folder: Path) -> Path:
    """Where a case that runs in the folder writes."""
    return folder / "output.json"


def is_golden(case: str, folder: Path) -> bool:
    """Whether what a case has written there comes to what its golden file comes to."""
    return _rows(case, output(folder)) == _rows(case, HERE / "outputs" / f"{case}.json")


def _functions(case: str) -> tuple[UdfFile, ...]:
    path = HERE / "cases" / f"{case}.py"
    return (UdfFile(path.name, path.read_text()),) if path.exists() else ()


def _rows(case: str, path: Path) -> Counter[str]:
    """The rows of a file, or what its changes come to."""
    lines = path.read_text().splitlines()
    if case == "debezium_pass_through" and path.parent != HERE / "outputs":
        lines = in_seconds(lines)
    if case in KEYS:
        near = (HERE / "outputs" / f"{case}.json").read_text().splitlines() if case == "every_aggregate" else []
        return folded_rows(case, lines, near)
    return Counter(json.dumps(json.loads(line), sort_keys=True) for line in lines)
