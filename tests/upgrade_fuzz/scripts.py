"""A script as random edits make it: branches in an order, and what is no part of its meaning."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import get_args

from engine.changes.verdict import Change
from tests.upgrade_fuzz.branches import Branch, Kind, edited, is_twin, new_branch, twin_of, wider

KINDS: tuple[Kind, ...] = get_args(Kind)
_SOURCES = """
CREATE TABLE events (ts TIMESTAMP NOT NULL, key TEXT, number {type}, WATERMARK FOR ts)
WITH (connector = 'scripted', path = '{folder}/events.json');
"""
_SIZES = """
CREATE TABLE sizes (ts TIMESTAMP NOT NULL, size BIGINT, WATERMARK FOR ts)
WITH (connector = 'scripted', path = '{folder}/sizes.json');
"""
_UPDATING = ("totals", "joined", "first")


@dataclass(frozen=True, slots=True)
class Script:
    """Branches of different kinds. `style` is how it is written: comments, lines, the name of a view, those of what
    keeps state, which no twin has; `type` that of the numbers of its events."""

    branches: tuple[Branch, ...]
    style: int = 0
    type: str = "BIGINT"

    def sql(self, folder: Path) -> str:
        """The whole text."""
        events = "events" if self.style % 2 == 0 else "rows_seen"
        parts = [_SOURCES, *([] if events == "events" else ["CREATE VIEW rows_seen AS SELECT * FROM events;"])]
        parts += [_SIZES] if any(branch.kind == "joined" for branch in self.branches) else []
        for branch in self.branches:
            is_named = self.style % 4 in (1, 2) and branch.kind != "plain" and not is_twin(branch)
            columns, select = branch.sql(events, is_named=is_named)
            form = "debezium_json" if branch.kind in _UPDATING else "json"
            parts.append(
                f"CREATE TABLE {branch.table} ({columns}) WITH (connector = 'single_file', "
                f"path = '{{folder}}/{branch.table}', format = '{form}', type = 'sink');"
            )
            parts.append(f"INSERT INTO {branch.table} {select};")
        gap = "\n" if self.style % 3 == 0 else f"\n-- as it was said in meeting {self.style}\n"
        return gap.join(parts).replace("{folder}", str(folder)).replace("{type}", self.type)

    def branch(self, table: str) -> Branch | None:
        """The branch into a table."""
        return next((branch for branch in self.branches if branch.table == table), None)


@dataclass(frozen=True, slots=True)
class Edited:
    """The script after some edits, and for each table that was touched what a plan may say of its operator. Where two
    operators `meet`, and one would have to do for the sinks of both, it must be refused."""

    script: Script
    names: tuple[str, ...]
    allows: Mapping[str, frozenset[Change]] = field(default_factory=dict)
    meet: bool = False


def random_script(dice: random.Random) -> Script:
    """A first script."""
    kinds = dice.sample(KINDS, dice.randint(2, 4))
    type_of_numbers = dice.choice(("INT", "BIGINT"))
    branches = [new_branch(kind, 0, dice) for kind in kinds]
    twins = [twin_of(branch) for branch in branches if branch.kind != "plain"]
    branches += [dice.choice(twins)] if dice.random() < 0.5 else []
    return Script(tuple(branches), dice.randrange(6), type_of_numbers)


def random_change(script: Script, number: int, dice: random.Random) -> Edited:
    """One to three edits of a script, of different branches; `number` tells the names of new sinks apart."""
    before = script.branches
    branches, names, allows = list(before), list[str](), dict[str, frozenset[Change]]()
    touched = dice.sample(range(len(branches)), min(dice.randint(0, 2), len(branches)))
    for place in touched:
        edit = edited(branches[place], dice)
        branches[place] = edit.branch
        names.append(f"{edit.name} of {edit.branch.table}")
        allows[edit.branch.table] = edit.allows
    missing = [kind for kind in KINDS if kind not in {branch.kind for branch in branches}]
    if dice.random() < 0.3 and len(branches) < 5:
        fresh = new_branch(dice.choice(missing), number, dice)
        branches.append(fresh)
        names.append(f"new {fresh.table}")
        allows[fresh.table] = frozenset({Change.STATE_NEW}) if fresh.kind != "plain" else frozenset()
    elif dice.random() < 0.2 and len(branches) > 2 and len(touched) < len(branches):
        gone = branches.pop(dice.choice([place for place in range(len(branches)) if place not in touched]))
        names.append(f"without {gone.table}")
        is_lost = gone.kind != "plain" and not _goes_on_for_another(gone, script, branches)
        allows[gone.table] = frozenset({Change.REFUSED}) if is_lost else frozenset(Change)
    apart = twins(before, together=False) & twins(branches, together=False)
    if apart and dice.random() < 0.2:
        one, other = min(apart)
        form = next(branch for branch in branches if branch.table == one)
        branches = [replace(form, table=other) if branch.table == other else branch for branch in branches]
        names.append(f"meeting of {other}")
    if script.type == "INT" and dice.random() < 0.4:
        script = replace(script, type="BIGINT")
        names.append("type")
        allows = {branch.table: wider(branch, allows.get(branch.table)) for branch in branches} | {
            table: allowed for table, allowed in allows.items() if table not in {branch.table for branch in branches}
        }
    if dice.random() < 0.5:
        dice.shuffle(branches)
        names.append("order")
    if dice.random() < 0.5 or not names:
        script = replace(script, style=script.style + 1)
        names.append("style")
    meet = not twins(before, together=False).isdisjoint(twins(branches, together=True))
    return Edited(replace(script, branches=tuple(branches)), tuple(names), allows, meet)


def _goes_on_for_another(gone: Branch, before: Script, after: Sequence[Branch]) -> bool:
    """Whether another branch keeps the operator that it has shared with one that goes, however changed."""
    shared = {branch.table for branch in before.branches if branch.operator == gone.operator}
    return any(branch.table in shared and branch.size == gone.size for branch in after)


def twins(branches: Sequence[Branch], *, together: bool) -> set[tuple[str, str]]:
    """The tables of two branches of one kind, which one operator keeps the state of, or one for each."""
    return {
        (one.table, other.table)
        for one, other in combinations(sorted(branches, key=lambda branch: branch.table), 2)
        if one.kind == other.kind and (one.operator == other.operator) is together
    }
