"""Render the screen of `arroyo top` from rows, size and clock. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from engine.cli.base import Json
from engine.cli.pipelines.list_pipelines import ordered
from engine.cli.pipelines.logs import readable_event as readable
from engine.cli.remote import instant
from engine.values.durations import spell_lag

_OBEYED = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories of characters that move the cursor, change the text direction, or are invisible."""
_FAILING = {"Failed", "Recovering", "Scheduling"}
_STYLES = {"Failed": "red", "Recovering": "yellow"}
_FRAME = 3
"""Lines other than rows: the title, the head and the keys."""


@dataclass(frozen=True, slots=True)
class View:
    """State of the screen."""

    rows: Sequence[Mapping[str, Json]]
    order: str
    is_reversed: bool = False
    chosen: str | None = None
    """Id of the selected pipeline."""
    away_since: int | None = None
    """Time of the last response; None while the control plane responds."""
    events: Sequence[Mapping[str, Json]] | None = None
    """Last events of the selected pipeline, newest first; None if they are not shown."""

    def in_order(self) -> list[Mapping[str, Json]]:
        """Return the rows as they are shown."""
        return ordered(self.rows, self.order, is_reversed=self.is_reversed)


def harmless(text: str) -> str:
    """Return the text in one line, with control characters escaped."""
    return "".join(
        character if unicodedata.category(character) not in _OBEYED else ascii(character)[1:-1] for character in text
    )


def table(view: View, width: int, height: int | None = None) -> Table:
    """Return the rows that fit, around the chosen one; all of them without a height."""
    columns = [column for column in _COLUMNS if width >= column.least_width]
    drawn = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold", width=width)
    for column in columns:
        drawn.add_column(
            column.head, no_wrap=True, overflow="ellipsis", justify=column.justify, ratio=column.ratio or None
        )
    for row in _visible(view, height):
        style = "dim" if view.away_since is not None else _STYLES.get(str(row.get("state")), "")
        is_chosen = view.chosen is not None and row.get("id") == view.chosen
        cells = [Text(harmless(column.text(row))) for column in columns]
        drawn.add_row(*cells, style=f"{style} reverse".strip() if is_chosen else style)
    return drawn


def screen(view: View, width: int, height: int, now: int) -> RenderableType:
    """Return the whole screen: a title, the table or the events of one pipeline, and the keys."""
    direction = ", reversed" if view.is_reversed else ""
    title = f"{len(view.rows)} pipelines by {view.order}{direction}  {instant(now)}"
    if view.away_since is not None:
        title = f"control plane away since {instant(view.away_since)}; its last rows  {instant(now)}"
    head = _line(title, "yellow" if view.away_since is not None else "bold")
    if view.events is None:
        foot = _line("q quit  s sort  r reverse  up/down choose  Enter events", "dim")
        return Group(head, table(view, width, max(1, height - _FRAME)), foot)
    lines = [line for event in view.events[::-1] for line in _event(event)]
    shown = lines[-max(1, height - 2) :] or ["no events"]
    return Group(head, *(_line(line) for line in shown), _line("q quit  Enter back", "dim"))


def _visible(view: View, height: int | None) -> list[Mapping[str, Json]]:
    rows = view.in_order()
    if height is None or len(rows) <= height:
        return rows
    chosen = next((at for at, row in enumerate(rows) if row.get("id") == view.chosen), 0)
    first = min(max(0, chosen - height // 2), len(rows) - height)
    return rows[first : first + height]


def _line(text: str, style: str = "") -> Text:
    return Text(harmless(text), style=style, no_wrap=True, overflow="ellipsis")


def _event(event: Mapping[str, Json]) -> list[str]:
    details = event.get("details")
    return [readable({**event, "details": None}), *([f"  hint: {details}"] if details else [])]


def _state(row: Mapping[str, Json]) -> str:
    """Return the state with its reason: the error of a failing job, who has stopped a stopped one."""
    state = str(row.get("state"))
    is_failing = state in _FAILING or row.get("blocked")
    cause = row.get("failure_code") if is_failing else row.get("stopped_by") if state == "Stopped" else None
    not_undone = f"; {row['not_undone']}" if row.get("not_undone") else ""
    return (f"{state}: {cause}" if cause else state) + not_undone


def _lag(row: Mapping[str, Json]) -> str:
    return spell_lag(row.get("lag_micros")) or ""


def _figure(name: str, form: str, unit: int = 1) -> Callable[[Mapping[str, Json]], str]:
    def text(row: Mapping[str, Json]) -> str:
        value = row.get(name)
        return format(value / unit, form) if isinstance(value, int | float) else ""

    return text


@dataclass(frozen=True, slots=True)
class _Column:
    head: str
    text: Callable[[Mapping[str, Json]], str]
    least_width: int = 0
    """Smallest terminal width on which it is shown."""
    ratio: int = 0
    """Share of the remaining width; 0 means the width of its content."""

    @property
    def justify(self) -> Literal["left", "right"]:
        return "left" if self.ratio or self.head == "COMPLETE UNTIL" else "right"


_COLUMNS = (
    _Column("NAME", lambda row: str(row.get("name")), ratio=2),
    _Column("STATE", _state, ratio=3),
    _Column("LAG", _lag),
    _Column("COMPLETE UNTIL", lambda row: instant(row.get("complete_until")) or "", 110),
    _Column("ROWS/S", _figure("rows_per_second", ".1f"), 70),
    _Column("RESTARTS", _figure("restarts", ".0f"), 70),
    _Column("CPU", _figure("cpu_cores", ".2f"), 70),
    _Column("MIB", _figure("memory_bytes", ".0f", 2**20), 70),
)
