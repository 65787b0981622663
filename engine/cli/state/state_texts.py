"""What is in a state, as text for people. What is not known says so, and why."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engine.cli.remote import facts, instant, table

if TYPE_CHECKING:
    from engine.inspection.diagnosis import Diagnosis

Shown = Mapping[str, Any]


def summary_text(state: Shown) -> str:
    """A state or savepoint: facts, then a table each for sources, operators and sinks."""
    parts = [facts(list(_facts(state)))]
    parts += _section("sources", state, ("NUMBER", "TABLE", "WATERMARK", "READ UP TO"), _source)
    parts += _section("operators", state, ("NUMBER", "ID", "SPARK", "ROWS", "BYTES", "PARTS", "SKEW"), _operator)
    parts += _section("sinks", state, ("NAME", "EPOCH", "HISTORY", "RUN", "ROWS", "LEFT OUT"), _sink)
    return "\n\n".join(parts)


def listing_text(listing: Shown) -> str:
    """A state directory: its epochs, then its savepoints."""
    epochs = [
        (
            epoch["number"],
            epoch["status"],
            instant(epoch["at"]),
            epoch["bytes"],
            "yes" if epoch["is_restorable"] else f"no: {epoch['fault']}",
        )
        for epoch in listing["epochs"]
    ]
    savepoints = [
        (
            savepoint["id"],
            savepoint["epoch"],
            instant(savepoint["at"]),
            savepoint["bytes"],
            savepoint["label"] if savepoint["fault"] is None else f"cannot be used: {savepoint['fault']}",
        )
        for savepoint in listing["savepoints"]
    ]
    parts = [f"{listing['directory']}  {listing['name'] or 'of an unknown pipeline'}"]
    parts.append(table(("EPOCH", "STATUS", "AT", "BYTES", "RESTORABLE"), epochs) if epochs else "no epochs")
    parts += [table(("SAVEPOINT", "EPOCH", "AT", "BYTES", ""), savepoints)] if savepoints else []
    return "\n\n".join(parts)


def diagnosis_text(diagnosis: Diagnosis, explains: bool) -> str:
    """Describe the damage, a line each, with meaning and remedy if asked for."""
    left = [f"left: {sink}" for sink in diagnosis.left] if explains else []
    if not diagnosis.damages:
        return "\n".join([f"{diagnosis.directory} is whole", *left])
    lines = []
    for damage in diagnosis.damages:
        lines.append(f"{damage.code}: {damage}")
        if explains:
            about = damage.kind.value
            lines += [f"    it means: {about.meaning}", f"    way out: {about.way_out}"]
    if explains:
        lines += ["", diagnosis.advice, *left]
    return "\n".join(lines)


def rows_text(rows: Sequence[Shown]) -> str:
    """Rows of an operator, a table for each of its own."""
    parts = []
    for name in dict.fromkeys(row["table"] for row in rows):
        own = [row for row in rows if row["table"] == name]
        columns = list(dict.fromkeys(column for row in own for column in row["columns"]))
        cells = [(row["partition"], *(_cell(row["columns"].get(column)) for column in columns)) for row in own]
        parts.append(f"{name}\n{table(('PART', *columns), cells)}")
    return "\n\n".join(parts) or "no rows"


def _cell(value: object) -> str:
    return "NULL" if value is None else value if isinstance(value, str) else json.dumps(value)


def _facts(state: Shown) -> Iterator[tuple[str, object]]:
    yield "pipeline", _known(state, "name")
    yield "version", _known(state, "version")
    yield "directory", state["directory"]
    yield "history", _known(state, "lineage") + "".join(f", from {name} at {epoch}" for name, epoch in state["parents"])
    yield "epoch", "none is committed" if state["epoch"] is None else f"{state['epoch']} is committed"
    if state["begun"] is not None:
        yield "begun", f"{state['begun']} is planned and not committed"
    yield "at", _known({**state, "at": instant(state["at"])}, "at")
    yield "watermark", _known({**state, "watermark": instant(state["watermark"])}, "watermark")
    yield "parallelism", _known(state, "parallelism")


def _source(source: Shown) -> Sequence[object]:
    positions = source["positions"]
    shown = None if positions is None else json.dumps(positions)
    watermark = {**source, "watermark": instant(source["watermark"]), "positions": shown}
    return source["number"], _known(source, "table"), _known(watermark, "watermark"), _known(watermark, "positions")


def _operator(operator: Shown) -> Sequence[object]:
    skew = None if operator["skew"] is None else f"{operator['skew']:.1f}"
    names = (_known(operator, "id"), _known(operator, "spark_name"))
    return operator["number"], *names, _known(operator, "rows"), operator["bytes"], len(operator["partitions"]), skew


def _sink(sink: Shown) -> Sequence[object]:
    if sink["epoch"] is None:
        return sink["name"], _known(sink, "epoch")
    return tuple(sink[name] for name in ("name", "epoch", "lineage", "generation", "rows", "refused"))


def _known(shown: Shown, name: str) -> str:
    if shown[name] is not None:
        return str(shown[name])
    why = shown.get("unknown", {}).get(name)
    return f"unknown ({why})" if why else "unknown"


def _section(name: str, state: Shown, head: Sequence[str], row: Any) -> list[str]:
    rows = [row(thing) for thing in state[name]]
    filled = [(*cells, *[None] * (len(head) - len(cells))) for cells in rows]
    return [f"{name}\n{table(head, filled)}"] if rows else []
