"""`arroyo state`: inspect a state or a savepoint.

`arroyo state`: inspect a state or a savepoint. Writes nothing, and a run may be active.

Text output of `arroyo state`. Unknown figures are marked, with the reason.
"""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cli.arguments import add_connections_argument, add_udf_argument, connections_text, read_udf_files
from engine.cli.base import Command, Json, path, segment
from engine.cli.remote import add_connection, connect, errors_shown, facts, instant, say, table
from engine.errors import NoStateError, RequestError
from engine.jobs.disk import DataDirectory, is_id

if TYPE_CHECKING:
    from engine.inspection.diagnosis import Diagnosis

Shown = Mapping[str, Any]


def summary_text(state: Shown) -> str:
    """Return a state or savepoint: facts, then a table each for sources, operators and sinks."""
    parts = [facts(list(_facts(state)))]
    parts += _section("sources", state, ("NUMBER", "TABLE", "WATERMARK", "READ UP TO"), _source)
    parts += _section("operators", state, ("NUMBER", "ID", "SPARK", "ROWS", "BYTES", "PARTS", "SKEW"), _operator)
    parts += _section("sinks", state, ("NAME", "EPOCH", "HISTORY", "RUN", "ROWS", "LEFT OUT"), _sink)
    return "\n\n".join(parts)


def listing_text(listing: Shown) -> str:
    """Return a state directory: its epochs, then its savepoints."""
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
    """Return rows of operators, a table for each operator."""
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


_ACTIONS = ("ls", "show", "rows", "verify", "doctor")


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=_ACTIONS,
        help="List epochs and savepoints (ls), show the newest epoch (show), print rows of an operator (rows), "
        "verify the files (verify), or explain damage and how to repair it (doctor)",
    )
    parser.add_argument(
        "subject", nargs="?", metavar="NAME", help="Choose the directory, or for `rows` the operator by its id"
    )
    parser.add_argument("--state-dir", metavar="DIR", type=path, help="Inspect this state directory")
    parser.add_argument(
        "--savepoint",
        metavar="ID",
        type=path,
        help="Inspect this savepoint: its id in the state directory, or its own directory",
    )
    parser.add_argument("--pipeline", metavar="NAME", help="Inspect the state of this pipeline of a control plane")
    parser.add_argument("--count", action="store_true", help="Count rows even if that reads a large state")
    parser.add_argument("--rows", action="store_true", help="Read every row of the state (verify)")
    parser.add_argument(
        "--format", choices=("text", "table", "json"), default="text", help="Show it in this form (default: text)"
    )
    parser.add_argument("--limit", type=int, default=20, help="Print at most this many rows (default: 20)")
    parser.add_argument(
        "--key",
        metavar="COLUMN=VALUE",
        action="append",
        default=[],
        help="Print only rows with this value in this column; may be repeated",
    )
    add_udf_argument(parser)
    add_connections_argument(parser)
    add_connection(parser)


@errors_shown
def _run(args: Namespace) -> int:
    if args.json:
        args.format = "json"
    return {"ls": _list, "show": _show, "rows": _rows, "verify": _verify, "doctor": _verify}[args.action](args)


def _list(args: Namespace) -> int:
    from engine.inspection.epochs import list_state, states_in  # noqa: PLC0415
    from engine.inspection.summary import listing_to_json  # noqa: PLC0415 - `--help` must not pay for it

    root = Path(args.subject) if args.subject else args.state_dir
    if args.pipeline is not None:
        root = _files_of_pipeline(args)
    if root is None:
        raise RequestError("arroyo state ls needs a directory", hint="arroyo state ls DIR, or --pipeline NAME")
    states = states_in(root)
    if not states:
        raise NoStateError(f"there is no state in {root}, nor below it", hint="name the directory given as --state-dir")
    listings = [listing_to_json(list_state(state)) for state in states]
    say(json.dumps(listings, indent=2) if args.format == "json" else "\n\n".join(map(listing_text, listings)))
    return 0


def _show(args: Namespace) -> int:
    if args.subject is not None and args.state_dir is None:
        args.state_dir = Path(args.subject)
    answer = _of_pipeline(args) if args.pipeline is not None else _of_directory(args)
    say(json.dumps(answer, indent=2) if args.format == "json" else summary_text(answer))
    return 0


def _rows(args: Namespace) -> int:
    if args.subject is None:
        raise RequestError(
            "arroyo state rows needs an operator",
            hint="arroyo state rows OPERATOR --state-dir DIR; `arroyo state show` names the operators",
        )
    shown = _rows_of_directory(args) if args.pipeline is None else _rows_of_pipeline(args)
    say(json.dumps(shown, indent=2) if args.format == "json" else rows_text(shown))
    return 0


def _rows_of_directory(args: Namespace) -> Sequence[Mapping[str, Any]]:
    from engine.inspection.rows import refuse_without_value  # noqa: PLC0415 - see above
    from engine.spark.state.kept_rows import kept_rows  # noqa: PLC0415 - see above

    refuse_without_value(args.key)
    directory, _ = _chosen(args)
    udfs, connections = read_udf_files(args.udf), connections_text(args)
    return kept_rows(directory, args.subject, args.key, args.limit, udfs=udfs, connections=connections)


def _rows_of_pipeline(args: Namespace) -> Sequence[Mapping[str, Any]]:
    _refuse_directories(args)
    query: dict[str, Any] = {"operator": args.subject, "limit": args.limit, "key": args.key}
    answer: Any = connect(args).get(f"/pipelines/{segment(args.pipeline)}/state/rows", query)
    rows: Sequence[Mapping[str, Any]] = answer["data"]
    return rows


def _verify(args: Namespace) -> int:
    from engine.inspection.diagnosis import diagnose  # noqa: PLC0415 - see above

    if args.pipeline is not None:
        args.state_dir = _files_of_pipeline(args)
    if args.subject is not None and args.state_dir is None:
        args.state_dir = Path(args.subject)
    directory, _ = _chosen(args)
    if not directory.is_dir():
        raise NoStateError(f"there is no directory {directory}", hint="name a state directory or a savepoint")
    diagnosis = diagnose(directory, reads_rows=args.rows)
    explains = args.action == "doctor"
    say(json.dumps(diagnosis.to_json(), indent=2) if args.format == "json" else diagnosis_text(diagnosis, explains))
    return 2 if diagnosis.damages else 0


def _of_pipeline(args: Namespace) -> Mapping[str, object]:
    _refuse_directories(args)
    query: dict[str, str | int | float] = {"count": "true"} if args.count else {}
    answer: Json = connect(args).get(f"/pipelines/{segment(args.pipeline)}/state", query)
    return dict(answer) if isinstance(answer, dict) else {}


def _files_of_pipeline(args: Namespace) -> Path:
    """Return the state directory of a pipeline of a control plane whose data directory is on this machine."""
    from engine.settings import load  # noqa: PLC0415 - see above

    _refuse_directories(args)
    answer = connect(args).get(f"/pipelines/{segment(args.pipeline)}")
    overrides = {"data_dir": args.data_dir} if args.data_dir else {}
    root = DataDirectory(load(os.environ, overrides=overrides).data_dir)
    pipeline_id = answer.get("id") if isinstance(answer, dict) else None
    directory = root.state(pipeline_id) if isinstance(pipeline_id, str) and is_id(pipeline_id, "pl") else None
    if directory is None or not directory.is_dir():
        raise NoStateError(
            f"the state of {args.pipeline} is not in the data directory {root.root}",
            hint=f"arroyo state {args.action} reads the files of a state: run it on the machine of the control plane, "
            "and name its data directory with --data-dir; it has none before the first start",
        )
    return directory


def _refuse_directories(args: Namespace) -> None:
    if args.state_dir is not None or args.savepoint is not None or (args.subject and args.action != "rows"):
        raise RequestError(
            "--pipeline names a state by itself", hint="leave out the directory, --state-dir and --savepoint"
        )


def _of_directory(args: Namespace) -> Mapping[str, object]:
    from engine.inspection.summary import (  # noqa: PLC0415
        summarize_savepoint,
        summarize_state,
        summary_to_json,
    )

    directory, is_savepoint = _chosen(args)
    summarize = summarize_savepoint if is_savepoint else summarize_state
    summary = summarize(
        directory, counts_all=args.count, udfs=read_udf_files(args.udf), connections=connections_text(args)
    )
    return summary_to_json(summary)


def _chosen(args: Namespace) -> tuple[Path, bool]:
    """Return the chosen directory, and whether it is a savepoint's."""
    if args.savepoint is not None:
        folder: Path = args.savepoint
        return (args.state_dir / "savepoints" / folder if args.state_dir is not None else folder), True
    if args.state_dir is None:
        raise RequestError(
            f"arroyo state {args.action} needs to know which state",
            hint="name it with --state-dir, --pipeline or --savepoint",
        )
    return args.state_dir, False


STATE = Command(_arguments, _run)
