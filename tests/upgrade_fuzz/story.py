"""A pipeline that is edited at random while it runs, held against what the plans of its edits have said."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from engine.changes.compare import as_the_new_has_them, compare
from engine.changes.operators import Pair, pairs_of
from engine.changes.show import show
from engine.changes.verdict import Change, UpgradePlan
from engine.checkpoints import spark_log
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.running_query import query_of_state
from engine.compile import Program, compile_script
from engine.errors import UpgradeRefusedError
from engine.inspection.find import find_damage
from engine.spark.run.run_spec import RunSpec, StateUpgrade
from tests.streams.play import START, Step, at, play, write_script
from tests.upgrade_fuzz.branches import Branch
from tests.upgrade_fuzz.data import STEPS, random_events, sizes
from tests.upgrade_fuzz.expected import History, Name, Row, joined, kept_up, must_be_there, passed, released
from tests.upgrade_fuzz.scripts import Script, random_change, random_script

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WAY = re.compile(r"--(reset|keep-state|hold-back) ([\w-]+)")
_GOES_ON = {Change.SAME, Change.STATE_KEPT, Change.STATE_MIGRATED}
Line: TypeAlias = dict[str, Any]
_STOPS = (1, 3, 5, None)


class DifferenceError(AssertionError):
    """What happened is not what was planned."""


@dataclass
class Story:
    """One pipeline, from its first version to the end of its input."""

    spark: SparkSession
    folder: Path
    seed: int
    stops: tuple[int | None, ...] = _STOPS
    """The last epoch of each version; None for the last version, which runs to the end."""
    told: list[str] = field(default_factory=list)
    edits: int = 0

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        self.events = random_events(self.dice)
        self.paths = StatePaths(self.folder / "state")
        self.histories: dict[str, History] = {}
        self.sizes_since = 0
        self.lines: dict[str, int] = {}
        self.named: dict[str, Counter[Name]] = {}
        self.groups: dict[str, dict[Name, Row]] = {}
        self._write_input()

    def _write_input(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        minutes = {step: timedelta(minutes=step) for step in range(STEPS)}
        events: dict[int, list[dict[str, object]]] = {step: [] for step in range(STEPS)}
        for event in self.events:
            events[event.epoch].append({"ts": at(event.minute), "key": event.key, "number": event.number})
        write_script(self.folder / "events.json", [Step(minutes[step], {"p": rows}) for step, rows in events.items()])
        write_script(
            self.folder / "sizes.json",
            [Step(minutes[row.step], {"p": [{"ts": at(row.step), "size": row.size}]}) for row in sizes()],
        )

    def play(self) -> None:
        """All of it. Raises DifferenceError with the story so far."""
        script = random_script(self.dice)
        self.told.append(f"seed {self.seed}, version 1:\n{script.sql(self.folder)}")
        self.histories = {branch.table: History.of(branch, 0) for branch in script.branches}
        try:
            self._run(script, None, self.stops[0])
            for number, last in enumerate(self.stops[1:], 2):
                script = self._change(script, number, last)
        except Exception as error:
            raise DifferenceError("\n".join([*self.told, f"{type(error).__name__}: {error}"])) from error

    def _change(self, script: Script, number: int, last: int | None) -> Script:
        change = random_change(script, number, self.dice)
        self.edits += len(change.names)
        self.told.append(f"version {number}: {', '.join(change.names)}\n{change.script.sql(self.folder)}")
        before, after = self._compiled(script), self._compiled(change.script)
        plan = compare(before, after)
        self.told.append(show(plan))
        if change.meet:
            _must(plan.is_refused, "two operators are to be one")
            self._must_be_refused(change.script, StateUpgrade())
            self._run(script, None, last)
            return script
        for table, claims in _told_of_tables(plan, before, after).items():
            allowed = change.allows.get(table, frozenset({Change.SAME, Change.STATE_KEPT}))
            _must(Change.REFUSED in claims if allowed == {Change.REFUSED} else claims <= allowed, f"{table}: {claims}")
        if set(change.names) <= {"style", "order"}:
            _must(plan.loses_nothing, "nothing was changed that means anything")
        wish: StateUpgrade | None = StateUpgrade()
        if not plan.loses_nothing:
            self._must_be_refused(change.script, StateUpgrade())
            wish, plan = self._consent(before, after, plan)
        elif (names := _shows_null(plan, before, after)) and self.dice.random() < 0.4:
            plan = compare(before, after, hold_back=names)
            self.told.append(f"hold back {sorted(names)}\n{show(plan)}")
            _must(not plan.is_refused and not plan.loses_nothing, "what is held back is no loss")
            self._must_be_refused(change.script, StateUpgrade(hold_back=tuple(names)))
            wish = StateUpgrade(hold_back=tuple(names), accept_loss=plan.id)
        if wish is None:
            self._run(script, None, last)
            return script
        epoch = (spark_log.newest_commit(self.paths.checkpoint) or 0) + 1
        self._note(plan, before, after, script, change.script, epoch)
        self._run(change.script, wish, last)
        return change.script

    def _compiled(self, script: Script) -> Program:
        return compile_script(self._spec(script).sql)

    def _spec(self, script: Script, wish: StateUpgrade | None = None) -> RunSpec:
        return RunSpec("job", script.sql(self.folder), self.paths.root, upgrade=wish)

    def _must_be_refused(self, script: Script, wish: StateUpgrade) -> None:
        old = query_of_state(self.paths.root)
        try:
            play(self.spark, self._spec(script, wish))
        except UpgradeRefusedError:
            _must(query_of_state(self.paths.root) == old, "what was refused has changed the state")
            _must(find_damage(self.paths.root, reads_rows=True) == [], "what was refused has damaged the state")
        else:
            raise DifferenceError("the plan refuses it, and it was done")

    def _consent(self, before: Program, after: Program, plan: UpgradePlan) -> tuple[StateUpgrade | None, UpgradePlan]:
        """Do what the plan says can be done, until it refuses nothing, and accept what is lost then. Nothing, where
        the plan says that there is nothing to do."""
        named: dict[str, set[str]] = {"reset": set(), "keep-state": set(), "hold-back": set()}
        while plan.is_refused:
            for verdict in plan.verdicts:
                if verdict.change is Change.REFUSED:
                    ways = _WAY.findall(verdict.reason)
                    if not ways:
                        _must("of its own" in verdict.reason, f"{verdict.name} has no way out")
                        return None, plan
                    verb, name = self.dice.choice(ways)
                    _must(name not in named[verb], f"{name} is refused though it was named: {verdict.reason}")
                    named[verb].add(name)
            named["hold-back"] -= named["reset"]
            keep_state, reset, hold_back = named["keep-state"], named["reset"], named["hold-back"]
            plan = compare(before, after, keep_state=keep_state, reset=reset, hold_back=hold_back)
            self.told.append(f"reset {reset}, keep {keep_state}, hold back {hold_back}\n{show(plan)}")
        accepted = None if plan.loses_nothing else plan.id
        names = tuple(named["keep-state"]), tuple(named["reset"])
        return StateUpgrade(*names, accepted, hold_back=tuple(named["hold-back"])), plan

    def _note(self, plan: UpgradePlan, before: Program, after: Program, old: Script, new: Script, epoch: int) -> None:
        """What each branch is from now on, by what the plan says of its operator."""
        claims = _told_of_tables(plan, before, after)
        had_sizes = any(branch.kind == "joined" for branch in old.branches)
        held_back = {
            table for number, move in plan.migrated.items() if move.held_back for table in after.operators[number].sinks
        }
        histories: dict[str, History] = {}
        for branch in new.branches:
            known, claim = self.histories.get(branch.table), claims.get(branch.table, set())
            goes_on = known is not None and (claim <= _GOES_ON or branch.kind == "plain")
            anew = History.of(branch, epoch, had_rows=known is not None)
            histories[branch.table] = known.going_on(branch, epoch) if known and goes_on else anew
            if branch.table in held_back:
                histories[branch.table] = histories[branch.table].holding_back(epoch)
            if branch.kind == "joined" and not had_sizes:
                # an epoch that the old query has begun has nothing of a table that it does not read
                self.sizes_since = max(epoch, spark_log.numbers(self.paths.checkpoint / "offsets")[-1] + 1)
        self.histories = histories

    def _run(self, script: Script, wish: StateUpgrade | None, last: int | None) -> None:
        newest = spark_log.newest_commit(self.paths.checkpoint)
        first = 0 if newest is None else newest + 1
        outcome, _ = play(self.spark, self._spec(script, wish), stop_after=last)
        _must(outcome == ("finished" if last is None else "stopped"), outcome)
        _must((damage := find_damage(self.paths.root, reads_rows=True)) == [], str(damage))
        until = spark_log.newest_commit(self.paths.checkpoint) or 0
        for branch in script.branches:
            self._check(branch, range(first, until + 1), is_over=last is None)

    def _check(self, branch: Branch, epochs: range, *, is_over: bool) -> None:
        lines, history = list(self._new_lines(branch.table)), self.histories[branch.table]
        match branch.kind:
            case "plain":
                rows: Counter[Name] = Counter((row["key"], row["number"]) for row in lines)
                _same(rows, passed(history, self.events, epochs), branch.table)
            case "joined":
                rows = Counter(tuple(line["after"].values()) for line in lines)
                _same(rows, joined(history, self.events, sizes(), self.sizes_since, epochs), branch.table)
            case "totals" | "first":
                self._check_groups(branch, lines, history, epochs.stop - 1)
            case _:
                self._check_windows(branch, lines, history, epochs.stop - 1, is_over=is_over)

    def _check_groups(self, branch: Branch, lines: list[Line], history: History, until: int) -> None:
        table = self.groups.setdefault(branch.table, {})
        for line in lines:
            name: Name = ((line["after"] or line["before"])["g"],)
            table.pop(name, None)
            if line["after"]:
                table[name] = {column: _plain(value) for column, value in line["after"].items() if column != "g"}
        for name, rows in kept_up(history, self.events, until).items():
            _must(not rows or table.get(name) in rows, f"{branch.table} {name}: {table.get(name)}, not of {rows}")

    def _check_windows(self, branch: Branch, lines: list[Line], history: History, until: int, *, is_over: bool) -> None:
        may, seen = released(history, self.events, until), self.named.setdefault(branch.table, Counter())
        for line in lines:
            start = datetime.fromisoformat(str(line["start"])).replace(tzinfo=START.tzinfo)
            minutes = round((start - START) / timedelta(minutes=1), 3)
            name: Name = (minutes, line[branch.columns[1]])
            row = {column: _plain(value) for column, value in line.items() if column not in branch.columns}
            _must(may.get(name) == row, f"{branch.table} {name}: {row}, not {may.get(name)}")
            seen[name] += 1
            _must(seen[name] == 1, f"{branch.table} {name} came twice")
        if is_over:
            missing = must_be_there(history, self.events, until) - seen.keys()
            _must(not missing, f"{branch.table} has not {sorted(missing, key=str)}")

    def _new_lines(self, table: str) -> Iterator[Line]:
        file = self.folder / table
        lines = file.read_text().splitlines() if file.exists() else []
        yield from map(json.loads, lines[self.lines.get(table, 0) :])
        self.lines[table] = len(lines)


def _told_of_tables(plan: UpgradePlan, before: Program, after: Program) -> Mapping[str, set[Change]]:
    """By table what a plan says of the operators of its branch, or of those that it had where there is none by now."""
    claims = {v.name: v.change for v in plan.verdicts if v.subject == "operator"}
    told: dict[str, set[Change]] = {table: set() for program in (before, after) for table in _written(program)}
    gone = _written(before) - _written(after)
    for pair in _pairs(before, after):
        old, new = (set(operator.sinks) if operator else set[str]() for operator in (pair.old, pair.new))
        for table in (new | old & gone) if pair.new else old:
            told[table].add(claims[pair.name])
    return told


def _written(program: Program) -> set[str]:
    return {write.table for write in program.writes}


def _pairs(before: Program, after: Program) -> list[Pair]:
    return pairs_of(as_the_new_has_them(before, after), after.operators)


def _shows_null(plan: UpgradePlan, before: Program, after: Program) -> list[str]:
    """The windows that would show NULL when they are open at the change."""
    unknown = {number for number, move in plan.migrated.items() if None in move.aggregates}
    return [pair.name for pair in _pairs(before, after) if pair.new is not None and pair.new.number in unknown]


def _plain(value: object) -> object:
    return round(value, 6) if isinstance(value, float) else value


def _must(holds: bool, text: str) -> None:
    if not holds:
        raise DifferenceError(text)


def _same(rows: Counter[tuple[object, ...]], expected: Counter[tuple[object, ...]], table: str) -> None:
    _must(rows == expected, f"{table}: too much {rows - expected}, too little {expected - rows}")
