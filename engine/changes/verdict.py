"""Upgrade plan: a verdict for each operator, source and sink.

Decide whether a planned change is allowed: it must not be refused, and its losses must be accepted.

    plan 3f0c loses nothing                       allowed
    plan 88aa loses a window, 88aa is accepted    allowed
    plan 88aa loses a window, 3f0c is accepted    not allowed: another plan was accepted
    plan 99bb is refused, 99bb is accepted        not allowed: the result would be wrong

A control plane decides this before it stops anything, and the run decides it again for the state at that time.

Expected effects of a change besides the state: the pause, and the gate certificates that it voids. They are measured
or unknown. They change over time, so they are not part of what a user accepts
(docs/decisions/what-is-accepted-is-the-plan.md).

    expected pause: about 9 s, the current epoch and a start, as the last 2 upgrades took
    gate certificates voided: g_1 of hourly scheduled_05:00
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import Literal, Protocol, TypeAlias

from engine.plan.expressions.expr import Expr
from engine.values.start_positions import StartPosition

Subject: TypeAlias = Literal["operator", "source", "sink", "lookup", "function", "pipeline"]


FROM_OPTIONS = "where its options say"
"""Text of the start position of a new source without an explicit start."""


class Change(StrEnum):
    """Effect of an upgrade on an object."""

    SAME = "SAME"
    """Unchanged."""
    LIVE = "LIVE"
    """Changes while the pipeline runs."""
    RESTART = "RESTART"
    """Changes at the next start, without state that could be lost."""
    RESCALE = "RESCALE"
    """Its state is repartitioned."""
    STATE_KEPT = "STATE_KEPT"
    """Continues with the existing state."""
    STATE_MIGRATED = "STATE_MIGRATED"
    """Continues with the existing state, converted to another form."""
    STATE_DROPPED = "STATE_DROPPED"
    """Its state is discarded."""
    STATE_NEW = "STATE_NEW"
    """Starts empty."""
    REFUSED = "REFUSED"
    """Impossible without a loss or a wrong result."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Effect on an operator, a source or a sink, and why; `shown` describes its output in the meantime. It `loses` what
    cannot be recovered; the user has named it. `rows` and `bytes` are the current size of an operator's state; None if
    unknown."""

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
    """Size of an operator's state; None if unknown."""

    rows: int | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class Migration:
    """Conversion of the state of the old `operator`, which has other columns. `aggregates` maps each new aggregate to
    the index of the same old one, None for a new one. `origins` does so for each column in Spark's state: an index, a
    conversion, or an initial value. `columns_before` and `columns_after` are Spark's names of these columns. With
    `has_wider_keys` rows move to other partitions. Open windows are `held_back` as a whole, or show unknown values as
    NULL. For windows that stay stored by pane, `reform` has the conversion of their shards; with `leave_panes` they are
    converted to Spark's windows."""

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
    """Conversion of a changelog operator's state from the old `operator`: each shard is converted when it next changes.
    `aggregates` are as in `Migration`; `form` has a text for each old aggregate, None if it has none, and `formerly`
    the text that a new aggregate had with narrower numbers. `widened` has the former type of each hashed value
    (`plan/state/forms.py`), empty if unchanged; `groups` maps groups of them to old ones."""

    operator: int
    aggregates: tuple[int | None, ...] = ()
    form: tuple[str, ...] | None = None
    formerly: Mapping[str, str] = field(default_factory=dict)
    widened: tuple[tuple[str, ...], ...] = ()
    groups: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True)
class UpgradePlan:
    """Effect of an upgrade on a pipeline's state. `kept` maps Spark's numbers of new operators to the old ones with
    their state; `migrated` has the conversions, `reformed` the gradual ones of shards; `sources` maps new sources
    to the old ones with their position. `before` and `after` are the fingerprints of both scripts. `repeated` are sinks
    that get rows again because a source starts over, as a verdict says. `retold` are new operators that re-emit all
    their rows, each with the old filter over positional columns. `keeps_other_objects` if functions need other packages
    than the ones that made their stored objects. `copies` maps operators to those of whose state they get a copy."""

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
        """Return the plan with the requested starts of tables without a position in the state. Accepting the plan
        accepts these, too."""
        return replace(self, verdicts=tuple(_with_start(verdict, starts) for verdict in self.verdicts))

    def with_figures(self, figures: Mapping[str, StateFigures]) -> UpgradePlan:
        """Return the plan with the state sizes of the old script's operators, by their ids; a copy of a state has the
        same size."""
        known = {**figures, **{name: figures[old] for name, old in self.copies.items() if old in figures}}
        return replace(self, verdicts=tuple(_with_figures(verdict, known) for verdict in self.verdicts))

    @property
    def is_same(self) -> bool:
        """Whether nothing changes."""
        return all(verdict.change is Change.SAME for verdict in self.verdicts)

    @property
    def is_refused(self) -> bool:
        """Whether any part is refused, so that nothing is done."""
        return any(verdict.change is Change.REFUSED for verdict in self.verdicts)

    @property
    def loses_nothing(self) -> bool:
        """Whether the upgrade can be done without any loss."""
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


class PlannedChange(Protocol):
    """Facts about a plan that the decision needs."""

    @property
    def id(self) -> str:
        """Stands for all that the plan says."""

    @property
    def is_refused(self) -> bool:
        """Whether any part cannot be done."""

    @property
    def loses_nothing(self) -> bool:
        """Whether the change can be done without any loss."""


@dataclass(frozen=True, slots=True)
class Wording:
    """Words of a refusal, for its reader: those for naming a loss, for accepting a plan, and other remedies."""

    reset: str
    accept_loss: str
    otherwise: str


@dataclass(frozen=True, slots=True)
class RefusedChange:
    """Reason why a change is not allowed, and the remedy."""

    message: str
    hint: str


def why_not(plan: PlannedChange, accepted: str | None, shown: str, wording: Wording) -> RefusedChange | None:
    """Return why a change may not be made for which the plan `accepted` was accepted; None if it may. `shown` is the
    plan as users read it."""
    if plan.is_refused:
        message = f"the query cannot take over the existing state\n{shown}"
        return RefusedChange(message, f"name with {wording.reset} what may be given up; or {wording.otherwise}")
    if plan.loses_nothing or accepted == plan.id:
        return None
    message = f"something would be lost, and the loss is not accepted\n{shown}"
    return RefusedChange(message, f"{wording.accept_loss} {plan.id} accepts all that this plan says is lost")


@dataclass(frozen=True, slots=True)
class Expected:
    """Expected effects. `pause` is None if unknown; `why` explains its parts, or why it is unknown. `voided` names the
    voided certificates, None if that is unknown."""

    pause: timedelta | None
    why: str
    voided: tuple[str, ...] | None

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        micros = None if self.pause is None else self.pause // timedelta(microseconds=1)
        voided = None if self.voided is None else list(self.voided)
        return {"pause_micros": micros, "pause": self.why, "voided": voided}

    def lines(self) -> list[str]:
        """Return lines for users."""
        about = "unknown" if self.pause is None else f"about {self.pause.total_seconds():.0f} s"
        voided = "unknown, a control plane keeps them" if self.voided is None else ", ".join(self.voided) or "none"
        return [f"expected pause: {about}, {self.why}", f"gate certificates voided: {voided}"]


WITHOUT_A_CONTROL_PLANE = Expected(None, "only a control plane notes how long starts take", None)
"""Expectation for a state directory or a savepoint, where nothing is measured."""


def of_restart(starts: Sequence[timedelta], epoch: timedelta | None, voided: tuple[str, ...]) -> Expected:
    """Estimate a change that restarts the job with its state unchanged. `starts` are the durations of recent starts,
    `epoch` is the longest time that the current epoch may still take."""
    if not starts:
        return Expected(None, "no start of it has been measured yet", voided)
    return Expected(
        _mean(starts, epoch), f"the epoch in hand and a start, as the last {_times(starts, 'start')}", voided
    )


def of_upgrade(
    upgrades: Sequence[timedelta], starts: Sequence[timedelta], epoch: timedelta | None, voided: tuple[str, ...]
) -> Expected:
    """Estimate a change that also builds a new state. Only `upgrades`, the starts that have done so, tell how long that
    takes; other `starts` give a lower bound."""
    if upgrades:
        why = f"the epoch in hand and a start, as the last {_times(upgrades, 'upgrade')}"
        return Expected(_mean(upgrades, epoch), why, voided)
    if not starts:
        return Expected(None, "no start of it has been measured yet", voided)
    least = f"a start has taken {_mean(starts, None).total_seconds():.0f} s"
    why = f"{least}, and how long its savepoint and the new state take has not been measured yet"
    return Expected(None, why, voided)


def _mean(starts: Sequence[timedelta], epoch: timedelta | None) -> timedelta:
    return (epoch or timedelta()) + sum(starts, timedelta()) / len(starts)


def _times(starts: Sequence[timedelta], word: str) -> str:
    return f"{word} took" if len(starts) == 1 else f"{len(starts)} {word}s took"
