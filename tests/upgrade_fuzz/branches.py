"""The branches that a script is made of: each reads the events into a sink of its own, and can be edited.

    Windows("tumble", aggregates=("n", "s"))      an aggregate more, another filter, another width ...

An edit says what the plan must make of it. It is what users are promised (docs/how-to/upgrade-with-state.md), written
down once more, so that the plan is not compared with itself.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from engine.changes.verdict import Change

Kind: TypeAlias = Literal["tumble", "hop", "ranked", "session", "totals", "joined", "first", "plain"]

CALLS: Mapping[str, tuple[str, str]] = {
    "n": ("count(*)", "BIGINT"),
    "s": ("sum(number)", "BIGINT"),
    "lo": ("min(number)", "BIGINT"),
    "hi": ("max(number)", "BIGINT"),
    "m": ("avg(number)", "DOUBLE"),
}
"""What an aggregate is called, and its type."""
FRONTS = ("", "number % 3 <> 0", "number < 15")
KEPT, MIGRATED, REFUSED = Change.STATE_KEPT, Change.STATE_MIGRATED, Change.REFUSED


@dataclass(frozen=True, slots=True)
class Branch:
    """A part of a script. `front` filters the rows that come to its operator, `behind` those that leave it; `size` is
    a window's width, a session's gap or the number of groups; `adds` something to a column behind the operator."""

    kind: Kind
    table: str
    aggregates: tuple[str, ...] = ("n",)
    front: str = ""
    behind: bool = False
    size: int = 10
    limit: int = 2
    adds: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of its sink that name a row, in which the others are not."""
        names: Mapping[Kind, tuple[str, ...]] = {
            "tumble": ("start", "key"),
            "hop": ("start", "key"),
            "ranked": ("start", "g"),
            "session": ("start", "key"),
            "totals": ("g",),
            "joined": ("number", "size"),
            "first": ("g",),
            "plain": ("key", "number"),
        }
        return names[self.kind]

    @property
    def operator(self) -> tuple[object, ...]:
        """What it has in common with another branch if one operator keeps the state of both. A window is kept once,
        whatever is behind it; of what gives changes that is shared which is the same up to the sink."""
        kept = (self.kind, self.aggregates, self.front, self.size)
        return kept if self.kind in ("tumble", "hop", "ranked", "session") else (*kept, self.behind, self.adds)

    def sql(self, events: str, *, is_named: bool = False) -> tuple[str, str]:
        """Its sink, without what says where that is, and its INSERT; `events` is what the events are called there. What
        keeps its state may have a name of its own."""
        select = f"SELECT /*+ id(kept_{self.kind}) */" if is_named else "SELECT"
        where = f" WHERE {self.front}" if self.front else ""
        calls = ", ".join(f"{CALLS[name][0]} AS {name}" for name in self.aggregates)
        values = ", ".join(f"{name} + {self.adds} AS {name}" if self.adds else name for name in self.aggregates)
        typed = ", ".join(f"{name} {CALLS[name][1]}" for name in self.aggregates)
        behind = " WHERE n % 2 = 0" if self.behind else ""
        match self.kind:
            case "tumble" | "hop" | "session":
                window = {
                    "tumble": f"tumble(INTERVAL '{self.size} minutes')",
                    "hop": f"hop(INTERVAL '{self.size // 2} minutes', INTERVAL '{self.size} minutes')",
                    "session": f"session(INTERVAL '{self.size} minutes')",
                }[self.kind]
                below = f"{select} {window} AS w, key, {calls} FROM {events}{where} GROUP BY w, key"
                return f"start TIMESTAMP, key TEXT, {typed}", f"SELECT w.start, key, {values} FROM ({below}){behind}"
            case "ranked":
                window = f"tumble(INTERVAL '{self.size} minutes')"
                below = f"{select} {window} AS w, number % 4 AS g, {calls} FROM {events}{where} GROUP BY w, g"
                place = "row_number() OVER (PARTITION BY w ORDER BY n DESC, g) AS place"
                chosen = f"SELECT w.start, g, {values} FROM (SELECT *, {place} FROM ({below}))"
                return f"start TIMESTAMP, g BIGINT, {typed}", f"{chosen} WHERE place <= {self.limit}"
            case "totals":
                below = f"{select} number % {self.size} AS g, {calls} FROM {events}{where} GROUP BY g"
                return f"g BIGINT, {typed}", f"SELECT g, {values} FROM ({below}){behind}"
            case "joined":
                rows = f"(SELECT * FROM {events}{where}) e JOIN sizes o ON e.number % {self.size} = o.size"
                return "number BIGINT, size BIGINT", f"{select} e.number + {self.adds}, o.size FROM {rows}"
            case "first":
                group = f"number % {self.size}"
                place = f"row_number() OVER (PARTITION BY {group} ORDER BY ts) AS place"
                ranks = f"{select} *, {group} AS g, {place} FROM {events}{where}"
                chosen = f"SELECT g, key, number + {self.adds} FROM ({ranks}) WHERE place = 1"
                return "g BIGINT, key TEXT, number BIGINT", chosen
            case "plain":
                return "key TEXT, number BIGINT", f"SELECT key, number + {self.adds} FROM {events}{where}"


@dataclass(frozen=True, slots=True)
class Edit:
    """A branch as it is afterwards, what was done to it, and what a plan may say of its operator."""

    branch: Branch
    name: str
    allows: frozenset[Change]


def _aggregates(branch: Branch, dice: random.Random) -> Edit:
    others = [name for name in CALLS if name != "n"]
    names = ["n", *dice.sample(others, dice.randint(0, 3))]
    dice.shuffle(names)
    if tuple(names) == branch.aggregates:
        names = [*names, dice.choice([name for name in others if name not in names])]
    allowed = MIGRATED if branch.kind != "session" else REFUSED
    return Edit(replace(branch, aggregates=tuple(names)), "aggregates", frozenset({allowed}))


def _front(branch: Branch, dice: random.Random) -> Edit:
    front = dice.choice([text for text in FRONTS if text != branch.front])
    allows = frozenset({REFUSED}) if branch.kind != "plain" else frozenset[Change]()
    return Edit(replace(branch, front=front), "front", allows)


def _behind(branch: Branch, dice: random.Random) -> Edit:
    return Edit(replace(branch, behind=not branch.behind), "behind", frozenset({KEPT}))


def _size(branch: Branch, dice: random.Random) -> Edit:
    size = dice.choice([size for size in (4, 6, 10) if size != branch.size])
    return Edit(replace(branch, size=size), "size", frozenset({REFUSED}))


def _limit(branch: Branch, dice: random.Random) -> Edit:
    return Edit(replace(branch, limit=3 - branch.limit), "limit", frozenset({KEPT}))


def _adds(branch: Branch, dice: random.Random) -> Edit:
    allows = frozenset({KEPT}) if branch.kind != "plain" else frozenset[Change]()
    return Edit(replace(branch, adds=branch.adds + 1), "adds", allows)


def wider(branch: Branch, allows: frozenset[Change] | None) -> frozenset[Change]:
    """What a plan may say of an operator whose numbers become wider; `allows` is what it may say of another edit of it,
    or of one that is new."""
    if allows is not None and allows & {REFUSED, Change.STATE_NEW}:
        return allows
    if branch.kind == "plain":
        return frozenset()
    reads_numbers = branch.aggregates != ("n",)
    if branch.kind == "session" and reads_numbers:
        return frozenset({REFUSED})
    if branch.kind in ("totals", "ranked", "joined", "first") or reads_numbers:
        return frozenset({MIGRATED})
    return allows or frozenset({Change.SAME, KEPT})


Editor: TypeAlias = Callable[[Branch, random.Random], Edit]
EDITORS: Mapping[Kind, Sequence[Editor]] = {
    "tumble": (_aggregates, _aggregates, _front, _behind, _size, _adds),
    "hop": (_aggregates, _aggregates, _front, _behind, _size, _adds),
    "ranked": (_aggregates, _front, _limit, _size, _adds),
    "session": (_aggregates, _front, _behind, _size, _adds),
    "totals": (_aggregates, _aggregates, _front, _behind, _size),
    "joined": (_front, _size, _adds),
    "first": (_front, _size, _adds),
    "plain": (_front, _adds),
}


def edited(branch: Branch, dice: random.Random) -> Edit:
    """A branch after one random edit."""
    return dice.choice(EDITORS[branch.kind])(branch, dice)


def twin_of(branch: Branch) -> Branch:
    """A branch that has the same rows in a sink of its own: one operator keeps the state of both, until they part."""
    return replace(branch, table=f"{branch.table}b")


def is_twin(branch: Branch) -> bool:
    """Whether a branch began as the twin of another one."""
    return branch.table.endswith("b")


def new_branch(kind: Kind, number: int, dice: random.Random) -> Branch:
    """A random branch of a kind, with a sink that no branch had before."""
    branch = Branch(kind, f"{kind}_{number}", front=dice.choice(FRONTS[:2]))
    branch = replace(branch, behind=dice.random() < 0.3 and _behind in EDITORS[kind], size=dice.choice((6, 10)))
    return _aggregates(branch, dice).branch if _aggregates in EDITORS[kind] else branch
