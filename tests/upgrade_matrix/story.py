"""Rows of the matrix as they are played, several in one pipeline that has all kinds of state.

    epochs      0 | 1 2 and the end
    old query   -
    new query     -----------------
    new query   -------------------   beside it, uninterrupted: from epoch 1 on both write the same

Where the plan says less, less is compared: a new aggregate is NULL in what was there before, and of what begins anew,
or has kept rows that would not come any more, only what had no rows before.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.changes.compare import compare
from engine.changes.show import show
from engine.compile import Program
from engine.spark.run.lifecycle import run_in
from engine.spark.run.run_spec import RunSpec, StateUpgrade
from engine.values.epoch_report import EpochReport
from tests.streams.play import START, Step, StepByStep, at, write_script
from tests.upgrade_matrix.changes import CHANGES, ScriptChange
from tests.upgrade_matrix.scripts import Script
from tests.upgrade_matrix.shapes import SHAPES, UPDATING, Form, Shape
from tests.upgrade_matrix.table import cell, said

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EPOCHS, LAST_OLD = 3, 0
_MINUTES = 10
_LAST_MINUTE = LAST_OLD * _MINUTES + 11
"""That of the newest row that the old query reads."""
NEW_KEY = "z"
"""One of which all rows come after the change."""


def write_input(folder: Path) -> None:
    """Rows of three tables. Windows that begin at a full ten minutes have rows of two epochs, those of the change
    among them."""
    events: list[Step] = []
    others: list[Step] = []
    sizes: list[Step] = []
    for epoch in range(EPOCHS):
        first = epoch * _MINUTES + 3
        keys = ("a", "b", "a", "b", NEW_KEY if epoch > LAST_OLD else "a")
        rows = [
            {"ts": at(first + 2 * i), "key": key, "number": 10 * epoch + 3 * i % 10, "other": 100 + i, "extra": epoch}
            for i, key in enumerate(keys)
        ]
        plain = [{"ts": at(first + 2 * i), "key": key, "number": 100 * epoch + i} for i, key in enumerate(keys)]
        known = ("a", "b", NEW_KEY)[epoch]
        now = timedelta(minutes=first)
        events.append(Step(now, {"p": rows}))
        others.append(Step(now, {"p": plain}))
        both = [{"ts": at(first + 8), "size": size} for size in (known, known.upper())]
        sizes.append(Step(now, {"p": both}))
    for name, steps in {"events": events, "others": others, "sizes": sizes}.items():
        write_script(folder / f"{name}.script", steps)


@dataclass
class Pipeline:
    """One that is run in a folder; `marks` has how many lines each sink had after which epoch."""

    spark: SparkSession
    folder: Path
    marks: dict[int, dict[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir()
        write_input(self.folder)

    @property
    def state(self) -> Path:
        """Its state directory."""
        return self.folder / "state"

    def run(self, script: Script, wish: StateUpgrade | None = None, *, until: int | None = None) -> None:
        """Run to an epoch, or to the end."""
        control = StepByStep()

        def note(report: EpochReport) -> None:
            self.marks[report.epoch] = {table: len(self.lines(table)) for _, table, _ in script.written()}
            if until is not None and report.epoch >= until:
                control.stop("checkpoint")
            control.reported.set()

        spec = RunSpec("job", script.sql(self.folder), self.state, udfs=script.udfs, upgrade=wish)
        assert run_in(self.spark, spec, control, note) == ("finished" if until is None else "stopped")

    def lines(self, table: str) -> list[dict[str, Any]]:
        """What was written into a sink."""
        file = self.folder / table
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def after_the_change(self, table: str, *, is_updating: bool) -> Counter[tuple[tuple[str, object], ...]]:
        """The rows that it has given a sink since; of changes, what came in the place of what."""
        lines = self.lines(table)[self.marks[LAST_OLD][table] :]
        rows = [line["after"] for line in lines if line["after"]] if is_updating else lines
        return Counter(tuple(sorted(row.items())) for row in rows)


@dataclass(frozen=True, slots=True)
class Bundle:
    """Rows that are played together: each is done to the branches of which the plan does not refuse it."""

    name: str
    rows: tuple[str, ...]

    @property
    def changes(self) -> tuple[ScriptChange, ...]:
        """What the rows are."""
        return tuple(change for change in CHANGES if change.name in self.rows)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The branches: where another script is begun with, those alone of which all of it can be said, and the plan
        refuses none of it."""
        others = [change for change in self.changes if change.base_script(Script({})) != Script({})]
        left_out = ("", "refused")
        return tuple(shape for shape in SHAPES if not any(cell(change, shape) in left_out for change in others))

    @property
    def base(self) -> Form:
        """What the branches are before."""
        return next((change.base for change in self.changes if change.base != Form()), Form())

    @property
    def consent(self) -> str:
        """What is agreed to, for all operators."""
        return next((change.consent for change in self.changes if change.consent), "")

    def claims(self, shape: Shape) -> set[str]:
        """What the table says of a branch."""
        return {cell(change, shape) for change in self.changes} - {"", "refused"}

    def form(self, shape: Shape) -> Form:
        """What a branch becomes."""
        form = self.base
        for change in self.changes:
            form = change.form(form) if cell(change, shape) not in ("", "refused") else form
        return form

    def before(self) -> Script:
        """What the rows are done to."""
        script = Script(dict.fromkeys(self.shapes, self.base))
        for change in self.changes:
            script = change.base_script(script)
        return script

    def after(self) -> Script:
        """The script with all of the rows done."""
        script = replace(self.before(), forms={shape: self.form(shape) for shape in self.shapes})
        for change in self.changes:
            script = change.script(script)
        return script


def play(spark: SparkSession, folder: Path, bundle: Bundle) -> None:
    """Change a pipeline of all kinds of state, and compare."""
    changed, uninterrupted = Pipeline(spark, folder / "changed"), Pipeline(spark, folder / "uninterrupted")
    before, after = bundle.before(), bundle.after()
    changed.run(before, until=LAST_OLD)
    changed.run(after, wish(changed.folder, bundle))
    uninterrupted.run(after)

    for shape, table, form in after.written():
        new, is_updating = set(form.kept) - set(bundle.base.kept), shape in UPDATING
        expected = _with_unknown(uninterrupted.after_the_change(table, is_updating=is_updating), new)
        rows = changed.after_the_change(table, is_updating=is_updating)
        if bundle.consent:
            expected = _without_rows_before(expected)
            names = set(map(_name, expected))
            rows = Counter({row: count for row, count in rows.items() if _name(row) in names})
        assert expected, f"{table} is not compared"
        assert rows == expected, f"{table}: too much {rows - expected}, too little {expected - rows}"


def wish(folder: Path, bundle: Bundle) -> StateUpgrade:
    """What is agreed to, of a plan that says of each branch in the company of the others what it says of it alone."""
    after = bundle.after()
    old, new = bundle.before().compiled(folder), after.compiled(folder)
    names = {operator.id for operator in old.operators}
    keep_state, reset = ((names if bundle.consent == verb else set[str]()) for verb in ("keep_state", "reset"))
    plan = compare(old, new, keep_state=keep_state, reset=reset)
    assert not plan.is_refused, show(plan)
    for shape in bundle.shapes:
        claims = bundle.claims(shape)
        # what is the same alone is kept where others change
        alone = next((word for word in ("dropped", "migrated") if word in claims), "kept")
        tables = frozenset(after.tables(shape))
        together = said(plan, _operators(old, tables) | _operators(new, tables))
        assert together == alone, f"{shape}: {together}, not {alone}"
    return StateUpgrade(tuple(keep_state), tuple(reset), None if plan.loses_nothing else plan.id)


def _operators(program: Program, tables: frozenset[str]) -> set[str]:
    return {operator.id for operator in program.operators if not tables.isdisjoint(operator.sinks)}


Row = tuple[tuple[str, object], ...]


def _name(row: Row) -> tuple[object, ...]:
    """What tells a row from others of its branch."""
    values = dict(row)
    return tuple(values.get(name) for name in ("start", "k"))


def _has_rows_before(row: Row) -> bool:
    """Whether the old query may have read some of what a row is made of."""
    values = dict(row)
    if "start" in values:
        start = datetime.fromisoformat(str(values["start"])).replace(tzinfo=START.tzinfo)
        return (start - START) / timedelta(minutes=1) <= _LAST_MINUTE
    return str(values["k"]).lower() != NEW_KEY


def _with_unknown(rows: Counter[Row], new: set[str]) -> Counter[Row]:
    """With the columns that are new as NULL where nobody knows them."""
    known: Counter[Row] = Counter()
    for row, count in rows.items():
        hides = new if _has_rows_before(row) else set[str]()
        known[tuple((name, None if name in hides else value) for name, value in row)] += count
    return known


def _without_rows_before(rows: Counter[Row]) -> Counter[Row]:
    return Counter({row: count for row, count in rows.items() if not _has_rows_before(row)})
