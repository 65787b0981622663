"""The kinds of state, each as the branch of a script that a change makes another one of.

Form(behind=True)     a filter behind the state
Form(kept=("n",))     without the aggregate `s`, or without the column `s` where rows are kept
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from engine.udf.declared import UdfFile

Shape: TypeAlias = Literal[
    "tumble",
    "hop",
    "session",
    "cumulate",
    "local days",
    "OVER event time",
    "nested windows",
    "windowed join",
    "updating aggregate",
    "updating join",
    "dedupe",
    "top-N",
    "UDAF",
    "two sources",
]
SHAPES: tuple[Shape, ...] = get_args(Shape)
CALENDARS = frozenset({"cumulate", "local days", "OVER event time"})
WINDOWS = frozenset({"tumble", "hop", "session", "nested windows", "windowed join", "two sources"}) | CALENDARS
"""Those that write each row once, when the watermark has passed it."""
OF_ROWS = frozenset({"updating join", "dedupe", "top-N"})
"""Those that keep rows, and no aggregates of them."""
UPDATING = frozenset(SHAPES) - WINDOWS
_CALLS = {"n": "count(*)", "s": "sum(number)", "hi": "max(number)"}
_COLUMNS = {"n": "number", "s": "other", "hi": "extra"}


@dataclass(frozen=True, slots=True)
class Form:
    """What a branch is like. `function_behind` and `function_in_front` say which code a function has that is called
    there, or that none is; `middle` which that of the UDAF has."""

    behind: bool = False
    adds: int = 0
    extra_column: bool = False
    kept: tuple[str, ...] = ("n", "s")
    front: bool = False
    key: str = "key"
    width: int = 10
    limit: int = 2
    function_behind: int = 0
    function_in_front: int = 0
    middle: int = 1


def table_of(shape: Shape) -> str:
    """The sink that the branch writes."""
    return shape.replace(" ", "_").replace("-", "_").lower()


def branch(shape: Shape, form: Form) -> tuple[str, str]:
    """The columns of its sink, and its query."""
    names = ("start", "k") if shape in WINDOWS - {"nested windows"} else ("start",) if shape in WINDOWS else ("k",)
    typed = [f"{name} {'TIMESTAMP' if name == 'start' else 'TEXT'}" for name in names]
    typed += [f"{name} BIGINT" for name in form.kept] + ["twice BIGINT"] * form.extra_column
    shown = [f"{name} + {form.adds} AS {name}" if form.adds else name for name in form.kept]
    if form.function_behind:
        shown[0] = f"behind({form.kept[0]}) AS {form.kept[0]}"
    shown += [f"{form.kept[0]} * 2 AS twice"] * form.extra_column
    identity = ["w.start AS start" if name == "start" else name for name in names]
    behind = f"{form.kept[0]} % 2 = 0" if form.behind else ""
    inner, place = _inner(shape, form)
    conditions = " AND ".join(filter(None, (place, behind)))
    where = f" WHERE {conditions}" if conditions else ""
    return ", ".join(typed), f"SELECT {', '.join([*identity, *shown])} FROM ({inner}){where}"


def _inner(shape: Shape, form: Form) -> tuple[str, str]:
    """What keeps the state, and which of its rows are chosen."""
    calls = ", ".join(f"{_CALLS[name]} AS {name}" for name in form.kept)
    columns = ", ".join(f"{_COLUMNS[name]} AS {name}" for name in form.kept)
    rows = f"events{_front(shape, form)}"
    tumble = f"tumble(INTERVAL '{form.width} minutes')"
    match shape:
        case "tumble":
            return f"SELECT {tumble} AS w, {form.key} AS k, {calls} FROM {rows} GROUP BY w, k", ""
        case "hop":
            window = f"hop(INTERVAL '{form.width // 2} minutes', INTERVAL '{form.width} minutes')"
            return f"SELECT {window} AS w, {form.key} AS k, {calls} FROM {rows} GROUP BY w, k", ""
        case "session":
            window = f"session(INTERVAL '{form.width // 2} minutes')"
            return f"SELECT {window} AS w, {form.key} AS k, {calls} FROM {rows} GROUP BY w, k", ""
        case "cumulate":
            window = f"cumulate(INTERVAL '{form.width // 2} minutes', INTERVAL '{form.width} minutes')"
            added = f"SELECT {window} AS v, {form.key} AS k, {calls} FROM {rows} GROUP BY v, k"
            return f"SELECT struct(v.end AS start) AS w, * FROM ({added})", ""
        case "local days":
            window = f"tumble(INTERVAL '{form.width // 10} days', 'Europe/Berlin')"
            return f"SELECT {window} AS w, {form.key} AS k, {calls} FROM {rows} GROUP BY w, k", ""
        case "OVER event time":
            frame = f"ORDER BY ts RANGE BETWEEN INTERVAL '{form.width} minutes' PRECEDING AND CURRENT ROW"
            over = f"OVER (PARTITION BY {form.key} {frame})"
            values = ", ".join(f"{_CALLS[name]} {over} AS {name}" for name in form.kept)
            return f"SELECT struct(ts AS start) AS w, {form.key} AS k, {values} FROM {rows}", ""
        case "nested windows":
            below = f"SELECT {tumble} AS w, {form.key} AS k, {calls} FROM {rows} GROUP BY w, k"
            largest = ", ".join(f"max({name}) AS {name}" for name in form.kept)
            return f"SELECT w, {largest} FROM ({below}) GROUP BY w", ""
        case "windowed join":
            left = f"SELECT {tumble} AS w, {form.key} AS k, {calls} FROM {rows} GROUP BY w, k"
            right = f"SELECT {tumble} AS w, {form.key} AS k, count(*) AS m FROM {rows} GROUP BY w, k"
            values = ", ".join(f"l.{name} AS {name}" for name in form.kept)
            return (
                f"SELECT l.w AS w, l.k AS k, {values} FROM ({left}) l JOIN ({right}) r ON l.w = r.w AND l.k = r.k",
                "",
            )
        case "two sources":
            both = "SELECT ts, key, number FROM events UNION ALL SELECT ts, key, number FROM others"
            return (
                f"SELECT {tumble} AS w, {form.key} AS k, {calls} FROM ({both}){_front(shape, form)} GROUP BY w, k",
                "",
            )
        case "updating aggregate":
            return f"SELECT {form.key} AS k, {calls} FROM {rows} GROUP BY k", ""
        case "UDAF":
            calls = calls.replace("sum(number)", "lowest(number)")
            return f"SELECT {form.key} AS k, {calls} FROM {rows} GROUP BY k", ""
        case "updating join":
            joined = f"(SELECT * FROM {rows}) e JOIN sizes o ON {form.key.replace('key', 'e.key')} = o.size"
            return f"SELECT e.key AS k, {columns} FROM {joined}", ""
        case "dedupe":
            place = f"row_number() OVER (PARTITION BY {form.key} ORDER BY ts) AS place"
            return f"SELECT {form.key} AS k, {columns}, {place} FROM {rows}", "place = 1"
        case "top-N":
            place = f"row_number() OVER (PARTITION BY {form.key} ORDER BY number DESC) AS place"
            return f"SELECT {form.key} AS k, {columns}, {place} FROM {rows}", f"place <= {form.limit}"


def _front(shape: Shape, form: Form) -> str:
    # true of every row, and another text for each, so that no two branches are one
    conditions = [f"number > -{1 + SHAPES.index(shape)}"]
    conditions += ["number % 3 <> 0"] * form.front + ["in_front(number) >= 0"] * bool(form.function_in_front)
    return f" WHERE {' AND '.join(conditions)}"


def functions(form: Form) -> tuple[UdfFile, ...]:
    """The functions that a branch may call, each in a file of its own: a file is changed as a whole."""
    texts = {
        "behind": f"@udf\ndef behind(x: int) -> int: return x + {form.function_behind}",
        "in_front": f"@udf\ndef in_front(x: int) -> int: return x * {form.function_in_front}",
        "lowest": f"@udaf\ndef lowest(values: list[int]) -> int: return sorted(values)[0] * {form.middle}",
    }
    return tuple(UdfFile(f"{name}.py", f"from engine.udf import udaf, udf\n{text}\n") for name, text in texts.items())
