"""Time windows and aggregation over them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from math import gcd
from typing import TypeAlias

from engine import types
from engine.functions.base import Takes
from engine.plan.expressions.expr import Call, Column, Expr, Named, is_nullable
from engine.plan.nodes.joins import LookupJoin, WindowJoin
from engine.plan.nodes.rows import Filter, Order, Over, Project, Scan, Top, Union
from engine.plan.state.width_marks import Formers
from engine.plan.tree import Node
from engine.schema import Field, Schema

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Tumble:
    """Adjacent windows of one width, aligned to the Unix epoch."""

    width: timedelta


@dataclass(frozen=True, slots=True)
class Hop:
    """Windows of `width`, one every `slide`, aligned to the Unix epoch; a row is in several. A `pane` is the longest
    period in which all rows are in the same windows."""

    slide: timedelta
    width: timedelta

    @property
    def pane(self) -> timedelta:
        """Return the length of a pane."""
        return gcd(self.slide // _TICK, self.width // _TICK) * _TICK


@dataclass(frozen=True, slots=True)
class Session:
    """Windows from a key's first row to `gap` after its last one, without a gap of that length in between."""

    gap: timedelta


@dataclass(frozen=True, slots=True)
class Carried:
    """A window that the input's rows already have in `column`; all rows of it arrive in one epoch."""

    column: str


@dataclass(frozen=True, slots=True)
class Period:
    """Length of a window of a calendar: months, or a fixed length by the clocks of its zone."""

    months: int = 0
    length: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class Calendar:
    """Windows of `width`, one every `slide`, aligned to 1970 plus `offset` by the clocks of a time zone. Both periods
    are months, or neither."""

    slide: Period
    width: Period
    zone: str = "UTC"
    offset: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class Cumulate:
    """Windows that begin together with one of `whole`, and end at every `step` and with it. A row is in all of them
    that end after it."""

    step: timedelta
    whole: Tumble | Calendar


Window: TypeAlias = Tumble | Hop | Session | Calendar | Cumulate | Carried


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A declared aggregate over some expressions. Without arguments it counts rows. Only rows for which `condition` is
    true count, in the given order if the function depends on it. `takes` is how a user-defined function gets the rows.
    """

    function: str
    arguments: tuple[Expr, ...]
    type: types.Type
    nullable: bool = True
    distinct: bool = False
    condition: Expr | None = None
    order: tuple[Order, ...] = ()
    takes: Takes = "all"

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """All that it reads of a row."""
        condition = () if self.condition is None else (self.condition,)
        return (*self.arguments, *(key.expr for key in self.order), *condition)


@dataclass(frozen=True, slots=True)
class NamedAggregate:
    """An aggregate and the name of its column."""

    name: str
    aggregate: Aggregate


LATE_TIME = Field("__late_time", types.TIMESTAMP, nullable=False)
LATE_WATERMARK = Field("__late_watermark", types.TIMESTAMP, nullable=False)


@dataclass(frozen=True, slots=True)
class LateRows(Node):
    """Rows that arrive after all their windows are closed, so that windows omit them: with their event time, and the
    watermark that they have missed."""

    input: Node
    window: Window

    @property
    def schema(self) -> Schema:
        """The columns of the input, then the two times."""
        return Schema((*self.input.schema, LATE_TIME, LATE_WATERMARK))


@dataclass(frozen=True, slots=True)
class Pane:
    """Period of this width, aligned to the Unix epoch, in which all rows are in the same windows."""

    width: timedelta


@dataclass(frozen=True, slots=True)
class Burst:
    """Rows of a key with less than `gap` between neighbours: all of them are in the same session."""

    gap: timedelta


def count_of(aggregate: Aggregate) -> Aggregate:
    """Return an aggregate that counts the values of another one."""
    return replace(aggregate, function="count", type=types.BIGINT, nullable=False)


MERGED_ROWS = Field("__rows", types.BIGINT, nullable=False)
LAST_TIME = Field("__last", types.TIMESTAMP, nullable=False)


@dataclass(frozen=True, slots=True)
class Partials(Node):
    """Rows of a scan for which `condition` is true, pre-aggregated in the source task: rows of a pane or burst with
    equal `keys` become the first of them, with their number and partial aggregates; for a burst also with the time of
    its last row. Without a pane or burst, all rows with equal keys are merged, at the time of the last. `columns` are
    those of the scan for Spark."""

    input: Scan
    condition: Expr | None
    stretch: Pane | Burst | None
    keys: tuple[Expr, ...]
    columns: Schema
    aggregates: tuple[NamedAggregate, ...]

    @property
    def schema(self) -> Schema:
        """The columns of the scan, how many rows were merged, the last time of a burst, the aggregates of these."""
        partial = (Field(named.name, named.aggregate.type, named.aggregate.nullable) for named in self.aggregates)
        last = (LAST_TIME,) if isinstance(self.stretch, Burst) else ()
        return Schema((*self.columns, MERGED_ROWS, *last, *partial))

    def column_of(self, aggregate: Aggregate) -> str:
        """Return the column with the aggregate of partial rows."""
        if not aggregate.arguments:
            return MERGED_ROWS.name
        return next(named.name for named in self.aggregates if named.aggregate == aggregate)

    def columns_of(self, aggregate: Aggregate) -> tuple[str, ...]:
        """Return the columns with the aggregate of partial rows; a sum also has a count of its numbers."""
        aggregates = (aggregate, count_of(aggregate)) if aggregate.function == "sum" else (aggregate,)
        return tuple(map(self.column_of, aggregates))


@dataclass(frozen=True, slots=True)
class ByPane:
    """For windows whose state is stored by pane (`plan/state/panes.py`): a text per aggregate, its texts with narrower
    numbers (`formerly`), and the former types of hashed keys (`formers`, see `plan/state/forms.py`)."""

    form: tuple[str, ...]
    formerly: tuple[tuple[str, ...], ...] = ()
    formers: Formers = ()


@dataclass(frozen=True, slots=True)
class WindowAggregate(Node):
    """One row per window and key, once, when the watermark has passed the window's end. The columns are the keys, the
    window as a struct of start and end, and the aggregates. Its event time is just before the end. Neither `pin`, the
    name from a hint, nor `by_pane`, the form of the state, is part of its identity."""

    input: Node
    window: Window
    window_name: str
    keys: tuple[Named, ...]
    aggregates: tuple[NamedAggregate, ...]
    pin: str | None = field(default=None, compare=False)
    by_pane: ByPane | None = field(default=None, compare=False)

    @property
    def schema(self) -> Schema:
        """Keys, window, aggregates."""
        return Schema(
            (
                *(Field(key.name, key.expr.type, is_nullable(key.expr)) for key in self.keys),
                Field(self.window_name, types.WINDOW, nullable=False),
                *(Field(named.name, named.aggregate.type, named.aggregate.nullable) for named in self.aggregates),
            )
        )

    @property
    def is_incremental(self) -> bool:
        """Whether it needs state between epochs; a carried window is complete within one."""
        return not isinstance(self.window, Carried)


def window_of(node: Node) -> tuple[Window, str | None] | None:
    """Return the window that every row of a relation belongs to, and the column that holds it if one does."""
    match node:
        case WindowAggregate(source, window, name):
            inner = window_of(source) if isinstance(window, Carried) else None
            return (inner[0] if inner else window, name)
        case Filter(source) | Unnest(source):
            return window_of(source)
        case Project():
            return _window_of_project(node)
        case Union(inputs):
            windows = [window_of(part) for part in inputs]
            same = len({None if window is None else window[0] for window in windows}) == 1
            return windows[0] if same else None
        case WindowJoin():
            return _window_of_join(node)
        case LookupJoin(source) | Over(source) | Top(source):
            return window_of(source)
    return None


def _window_of_project(project: Project) -> tuple[Window, str | None] | None:
    """Return the window of the input, and the first column that holds it."""
    inner = window_of(project.input)
    if inner is None:
        return None
    window, column = inner
    return window, next((named.name for named in project.columns if _holds(named.expr, column, project.input)), None)


def _window_of_join(join: WindowJoin) -> tuple[Window, str | None] | None:
    """Return the window of a side whose rows are never missing. In a full join, only a column that was computed for it
    has the window."""
    window = window_of(join.left)
    if window is None or join.windows is None or join.kind == "full":
        return None if window is None else (window[0], None)
    return window[0], join.windows[1 if join.kind == "right" else 0]


def _holds(expr: Expr, column: str | None, source: Node) -> bool:
    """Whether the expression is the column of the window or, over a full join, that of the side that is present."""
    match expr:
        case Column(name):
            return name == column
        case Call("coalesce", (Column(left), Column(right))):
            while isinstance(source, Filter):
                source = source.input
            return isinstance(source, WindowJoin) and source.windows in ((left, right), (right, left))
    return False


@dataclass(frozen=True, slots=True)
class Unnest(Node):
    """The input's row once per element of an array, which is the column `name`; none for NULL or an empty array."""

    input: Node
    name: str
    array: Expr

    @property
    def schema(self) -> Schema:
        """The columns of the input, then the element."""
        assert isinstance(self.array.type, types.Array)
        return Schema((*self.input.schema, Field(self.name, self.array.type.element, nullable=True)))
