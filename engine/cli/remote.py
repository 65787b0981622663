"""Common code of verbs that use a control plane: find it, and show its responses."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import wraps
from pathlib import Path
from urllib.parse import urlsplit

from engine.cli.base import Client, Json, RefusedError, field_of, path, segment
from engine.cli.terminal import plain, why_unreadable
from engine.errors import EngineError, RequestError, UnreachableError
from engine.jobs.address import read_address
from engine.jobs.disk import DataDirectory
from engine.values.instants import FAR_FUTURE, from_micros

REFUSED, FAILED = 2, 3
_PORTS = {"http": 80, "https": 443}
_LOCAL = ("127.0.0.1", "::1", "localhost")
DEFAULT_URL = "http://127.0.0.1:5115"


def add_connection(parser: ArgumentParser) -> None:
    """Add the arguments that choose the control plane."""
    parser.add_argument(
        "--url", help="Use the control plane at this URL (default: ARROYO_URL, or the one that uses --data-dir)"
    )
    parser.add_argument(
        "--token",
        help="Send this token (default: ARROYO_TOKEN, or the token file in --data-dir)",
    )
    parser.add_argument("--data-dir", type=path, help="Use the local control plane with this data directory")
    parser.add_argument("--json", action="store_true", help="Print JSON")


def add_pipeline(parser: ArgumentParser) -> None:
    """Add the argument that chooses the pipeline, and those of the connection."""
    parser.add_argument("pipeline", help="Choose the pipeline by name or id")
    add_connection(parser)


def seconds(text: str) -> float:
    """Return the argument of a limit on waiting."""
    number = float(text)
    if not number >= 0:  # NaN is not, either
        raise ArgumentTypeError(f"must be zero or more seconds, not {text!r}")
    return number


def connect(args: Namespace) -> Client:
    """Return a client of the control plane that the arguments, the environment, or the data directory name."""
    from engine.settings import load  # noqa: PLC0415 - `--help` must not pay for it

    overrides = {"data_dir": args.data_dir} if args.data_dir else {}
    directory = DataDirectory(load(os.environ, overrides=overrides).data_dir)
    url, token = os.environ.get("ARROYO_URL"), os.environ.get("ARROYO_TOKEN")
    if args.data_dir and url:
        # an argument is stronger than the environment, whose token belongs to the control plane that it names
        url = token = None
    written = read_address(directory.server)
    address = args.url or url or written or DEFAULT_URL
    if chosen := args.token or token:
        return Client(address, chosen)
    if not (args.url or url or written) and _stored_token(directory.token):
        raise UnreachableError(
            f"no control plane works in {directory.root}", hint="`arroyo serve` starts one; or name another with --url"
        )
    return _connect_with_stored_token(directory, address, written)


def _connect_with_stored_token(directory: DataDirectory, address: str, written: str | None) -> Client:
    """Return a client with the token of a data directory, which is sent only to the address that is `written` there."""
    if not (stored := _stored_token(directory.token)):
        return Client(address, "")
    if written is None or not is_same_place(address, written):
        raise RequestError(
            f"the token of {directory.root} is not sent to {address}: it is for the control plane "
            + (f"at {written}" if written else "that works there"),
            hint="give a token of that control plane with --token or ARROYO_TOKEN, or leave out the address",
        )
    return Client(written, stored)


def is_same_place(address: str, written: str) -> bool:
    """Whether an address means the control plane that has recorded the other one. Names of this machine count as equal:
    the recorded address is the one that is called."""
    try:
        (scheme, host, port), (own_scheme, own_host, own_port) = _place(address), _place(written)
    except ValueError:
        return False
    are_local = host in _LOCAL and own_host in _LOCAL
    return (scheme, port) == (own_scheme, own_port) and (host == own_host or are_local)


def _place(address: str) -> tuple[str, str, int | None]:
    parts = urlsplit(address)
    return parts.scheme, parts.hostname or "", parts.port or _PORTS.get(parts.scheme)


def _stored_token(path: Path) -> str:
    """Return the token of the control plane of a directory; empty if there is none."""
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise RequestError(
            f"the file of the token {path} cannot be read: {why_unreadable(error)}",
            hint="give the token with --token or ARROYO_TOKEN",
        ) from error


def path_of(args: Namespace, *parts: str) -> str:
    """Return the path of the pipeline of the arguments, or of a resource below it."""
    return "/".join(["/pipelines", segment(args.pipeline), *(segment(part) for part in parts)])


def one_of(word: int | None, option: int | None, what: str, example: str) -> int | None:
    """Return a number that may be given as a word or as an option; raise RequestError if the two differ."""
    if word is not None and option is not None and word != option:
        raise RequestError(f"{what} is given twice: {word} and {option}", hint=example)
    return option if word is None else word


def errors_shown(verb: Callable[[Namespace], int]) -> Callable[[Namespace], int]:
    """Wrap a verb so that its errors are printed: 2 for refusals, 3 for failures."""

    @wraps(verb)
    def run(args: Namespace) -> int:
        try:
            return verb(args)
        except RefusedError as error:
            warn(_with_complaints(error))
            return REFUSED if error.status < 500 else FAILED
        except UnreachableError as error:
            warn(str(error))
            return FAILED
        except EngineError as error:
            warn(str(error))
            return REFUSED

    return run


def say(text: str) -> None:
    """Print a line of the answer; a pipe gets it as it is."""
    sys.stdout.write((plain(text) if sys.stdout.isatty() else text) + "\n")


def warn(text: str) -> None:
    """Print a line that is not part of the answer."""
    sys.stderr.write((plain(text) if sys.stderr.isatty() else text) + "\n")


def show(args: Namespace, answer: Json, text: Callable[[Mapping[str, Json]], str]) -> None:
    """Print an answer that is one object, as JSON or as text."""
    if args.json:
        say(json.dumps(answer, indent=2))
    elif isinstance(answer, dict):
        say(text(answer))
    warn_of_remarks(answer)


def warn_of_remarks(answer: Json) -> None:
    """Print which parts of a request have no effect, according to the answer."""
    remarks = answer.get("remarks") if isinstance(answer, dict) else None
    for remark in remarks if isinstance(remarks, list) else ():
        warn(str(remark))


def describe(pipeline: Mapping[str, Json]) -> str:
    """Return a pipeline in a line."""
    return "  ".join(field_of(pipeline, name) for name in ("name", "id", "state"))


def rows_of(answer: Json) -> list[dict[str, Json]]:
    """Return the items of a list answer."""
    data = answer.get("data") if isinstance(answer, dict) else None
    return [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return columns as wide as their content."""
    lines = [list(head), *([("" if cell is None else str(cell)) for cell in row] for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def facts(pairs: Sequence[tuple[str, object]]) -> str:
    """Return one fact a line; missing ones are left out."""
    lines = [(name, value) for name, value in pairs if value is not None]
    width = max((len(name) for name, _ in lines), default=0)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in lines)


def instant(micros: Json) -> str | None:
    """Return an instant for a reader; the far future is the end of the input."""
    if not isinstance(micros, int):
        return None
    at: datetime = from_micros(micros)
    return "end of input" if at >= FAR_FUTURE else at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def shared_java_text(java: Json) -> str | None:
    """Return the JVM that a pipeline shares with others: its process, and how many share it; None if it has its own."""
    return f"{java.get('pid')}, of {java.get('drivers')}" if isinstance(java, dict) else None


def complete_facts(answer: Mapping[str, Json]) -> list[tuple[str, object]]:
    """Return how far each sink in an answer is complete, or why that is unknown."""
    sinks = answer.get("sinks")
    named = sorted(sinks.items()) if isinstance(sinks, dict) else []
    return [(f"complete {name}", _complete(sink)) for name, sink in named if isinstance(sink, dict)]


def _complete(sink: Mapping[str, Json]) -> str:
    until, output = instant(sink.get("complete_until")), instant(sink.get("output_until"))
    silent = sink.get("by_clock")
    by_clock = f", by the clock: {', '.join(map(str, silent))} silent" if silent and isinstance(silent, list) else ""
    if sink.get("unknown"):
        return f"not known: {sink['unknown']}" + (f"; written up to {output}{by_clock}" if output else "")
    return f"{until}{by_clock}" if until else "unknown yet"


def held_facts(answer: Mapping[str, Json]) -> list[tuple[str, object]]:
    """Return what keeps the output of an answer from being complete, and what would advance it."""
    held = answer.get("held_by")
    if not isinstance(held, dict):
        return []
    reason = HELD_REASONS.get(str(held.get("reason")), str(held.get("reason")))
    source, partition = held.get("source"), held.get("partition")
    place = "" if source is None else f"source {source}" + (f", partition {partition}" if partition else "") + ": "
    at, since = instant(held.get("watermark")), instant(held.get("since"))
    facts = [f"{place}{reason}", *([f"watermark {at}"] if at else []), *([f"since {since}"] if since else [])]
    return [("held by", ", ".join(facts)), ("to move it", held.get("remedy"))]


HELD_REASONS: Mapping[str, str] = {
    "no_rows": "no row yet",
    "oldest_rows": "the oldest rows",
    "unread_rows": "rows that are not read yet",
    "silent": "no rows in any partition",
    "history": "history that is not read yet",
    "open_files": "rows in files that are not final yet",
    "no_epoch": "no epoch is committed yet",
    "not_running": "the pipeline does not run",
}
"""Descriptions of the reasons for incomplete output."""


def _with_complaints(refused: RefusedError) -> str:
    """Return the refusal, with every error of a script on a line of its own."""
    errors = refused.problem.get("errors")
    if refused.problem_code != "sql.refused" or not isinstance(errors, list):
        return str(refused)
    return "\n".join(_complaint(complaint) for complaint in errors if isinstance(complaint, dict))


def _complaint(complaint: Mapping[str, Json]) -> str:
    span = complaint.get("span")
    start = span.get("start") if isinstance(span, dict) else None
    place = f" at {start['line']}:{start['column']}" if isinstance(start, dict) else ""
    hint = f"\n  hint: {complaint['hint']}" if complaint.get("hint") else ""
    return f"{complaint.get('code')}{place}: {complaint.get('message')}{hint}"
