"""The plan of a change: a verdict for each operator, source and sink."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Literal, TypeAlias

from engine.plan.expressions.expr import Expr
from engine.values.start_positions import StartPosition

Subject: TypeAlias = Literal["operator", "source", "sink", "lookup", "function", "pipeline"]


FROM_OPTIONS = "where its options say"
"""Where a source begins of which nothing was read yet, and nobody has said anything else."""


class Change(StrEnum):
    """What becomes of something."""

    SAME = "SAME"
    """It is as it was."""
    LIVE = "LIVE"
    """It changes while the pipeline runs."""
    RESTART = "RESTART"
    """It changes when the pipeline starts again, and keeps nothing that could be lost."""
    RESCALE = "RESCALE"
    """Its state is cut into another number of parts."""
    STATE_KEPT = "STATE_KEPT"
    """It goes on with the state that there is."""
    STATE_MIGRATED = "STATE_MIGRATED"
    """It goes on with the state that there is, in another form."""
    STATE_DROPPED = "STATE_DROPPED"
    """What it has kept goes."""
    STATE_NEW = "STATE_NEW"
    """It begins with nothing."""
    REFUSED = "REFUSED"
    """It cannot be done without losing something, or without a wrong answer."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of an operator, a source or a sink, and why; `shown` is what its output looks like meanwhile. It
    `loses` what nobody gets back, which somebody has named. `rows` and `bytes` are what an operator has kept by now;
    None where that is not known."""

    subject: Subject
    name: str
    change: Change
    reason: str = ""
    shown: str = ""
    loses: bool = False
    rows: int | None = None
    bytes: int | None = None

    @property
    def claim(self) -> dict[str, object]:
        """Return the verdict without figures, which change while the job runs."""
        return {name: value for name, value in asdict(self).items() if name not in ("rows", "bytes")}


@dataclass(frozen=True, slots=True)
class StateFigures:
    """How much an operator keeps; None where it is not known."""

    rows: int | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class Migration:
    """How an operator goes on with the state of the old `operator`, which has other columns. `aggregates` has for each
    aggregate of the new one the place of the same one in the old, None for a new one; `origins` the same for each
    column that Spark keeps: a place, how it is made of what is there, or with what a new column begins.
    `columns_before` and `columns_after` are what Spark calls these columns. One that `has_wider_keys` has its rows in
    other partitions. Windows that are open are `held_back` as a whole, or show what is not known as NULL. Of windows
    that are kept by pane, and go on so, `reform` says how their buckets do; those that `leave_panes` are made of them
    as Spark keeps windows."""

    operator: int
    aggregates: tuple[int | None, ...]
    origins: tuple[str, ...]
    columns_before: tuple[str, ...]
    columns_after: tuple[str, ...]
    has_wider_keys: bool = False
    held_back: bool = False
    reform: Reform | None = None
    leave_panes: bool = False


@dataclass(frozen=True, slots=True)
class Reform:
    """How what keeps changes goes on with the state of the old `operator`: each bucket is put into the new form when it
    is next changed. `aggregates` are as in `Migration`; `form` is a text for each of the old aggregates, None of what
    has none, and `formerly` has for that of a new one what it was over narrower numbers. `widened` has for each value
    that is hashed (`plan/hashed.py`) the type that it was in before, nothing where that is the same; `groups` for each
    group of them that of the old one."""

    operator: int
    aggregates: tuple[int | None, ...] = ()
    form: tuple[str, ...] | None = None
    formerly: Mapping[str, str] = field(default_factory=dict)
    widened: tuple[tuple[str, ...], ...] = ()
    groups: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True)
class UpgradePlan:
    """What becomes of a pipeline's state. `kept` says for Spark's number of an operator of the new script which number
    of the old one has its state; `migrated` how, where it is to have another form, and `reformed` how, where it gets
    that bit by bit; `sources` for one of a source which of the old ones has its position. `before` and `after` are the
    fingerprints of both scripts. `repeated` are the sinks that get rows again which they have, since a source begins
    anew: a verdict says so. `retold` are the new operators that tell their sinks of all their rows once
    more, each with which of them the old script has let out, over columns that are called after their places. It
    `keeps_other_objects` where functions ask for other packages than those that have made what is kept of them.
    `copies` are the operators that go on with a copy of a state, each with whose state that is."""

    before: str
    after: str
    verdicts: tuple[Verdict, ...]
    kept: Mapping[int, int]
    sources: Mapping[int, int] = field(default_factory=dict)
    migrated: Mapping[int, Migration] = field(default_factory=dict)
    reformed: Mapping[int, Reform] = field(default_factory=dict)
    repeated: tuple[str, ...] = ()
    retold: Mapping[int, Expr] = field(default_factory=dict)
    keeps_other_objects: bool = False
    copies: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Return the id of the plan: equal for plans with equal content, so that accepting it accepts exactly what was
        shown. Rows and bytes are not part of it, since they change while the job runs."""
        verdicts = [verdict.claim for verdict in self.verdicts]
        positions = sorted(self.sources.items())
        content: list[object] = [self.before, self.after, verdicts, sorted(self.kept.items()), positions]
        content += [[number, asdict(migration)] for number, migration in sorted(self.migrated.items())]
        content += [[number, asdict(reform)] for number, reform in sorted(self.reformed.items())]
        return hashlib.sha256(json.dumps(content).encode(errors="surrogatepass")).hexdigest()[:12]

    def with_starts(self, starts: Mapping[str, StartPosition]) -> UpgradePlan:
        """With where tables begin of which the state has no place, where somebody has said it. Who accepts the plan
        accepts that as well."""
        return replace(self, verdicts=tuple(_with_start(verdict, starts) for verdict in self.verdicts))

    def with_figures(self, figures: Mapping[str, StateFigures]) -> UpgradePlan:
        """With how much the operators of the old script keep, by their ids; a copy of a state is as large as that."""
        known = {**figures, **{name: figures[old] for name, old in self.copies.items() if old in figures}}
        return replace(self, verdicts=tuple(_with_figures(verdict, known) for verdict in self.verdicts))

    @property
    def is_same(self) -> bool:
        """Whether nothing changes."""
        return all(verdict.change is Change.SAME for verdict in self.verdicts)

    @property
    def is_refused(self) -> bool:
        """Whether any of it is refused, so that none of it is done."""
        return any(verdict.change is Change.REFUSED for verdict in self.verdicts)

    @property
    def loses_nothing(self) -> bool:
        """Whether it can be done, and nothing is lost by it."""
        return not self.is_refused and not any(verdict.loses for verdict in self.verdicts)

    @property
    def dropped_sources(self) -> frozenset[str]:
        """The source tables that are read from where they begin, though the old script has read them."""
        dropped = (v for v in self.verdicts if v.subject == "source" and v.change is Change.STATE_DROPPED)
        return frozenset(verdict.name for verdict in dropped)


def _with_start(verdict: Verdict, starts: Mapping[str, StartPosition]) -> Verdict:
    begins = verdict.subject == "source" and verdict.change in (Change.STATE_NEW, Change.STATE_DROPPED)
    if not begins or verdict.name not in starts:
        return verdict
    return replace(verdict, shown=verdict.shown.replace(FROM_OPTIONS, f"its start position {starts[verdict.name]}"))


def _with_figures(verdict: Verdict, figures: Mapping[str, StateFigures]) -> Verdict:
    known = figures.get(verdict.name)
    if known is None or verdict.subject != "operator" or verdict.change is Change.STATE_NEW:
        return verdict
    return replace(verdict, rows=known.rows, bytes=known.bytes)
