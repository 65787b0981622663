"""`arroyo serve`."""

from __future__ import annotations

import os
import signal
import time
import webbrowser
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from urllib.parse import quote, urljoin

from engine.cli.base import Command, Json, field_of, path
from engine.cli.remote import add_connection, connect, errors_shown, say, show, table
from engine.errors import RequestError, UnreachableError
from engine.jobs.address import read_address, read_pid
from engine.jobs.disk import DataDirectory
from engine.jobs.processes.processes import has_open, is_locked

_PAUSE = 0.1
_LOOKS = 300


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("--host", help="Listen on this address (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, help="Listen on this port; 0 takes a free one (default: 5115)")
    parser.add_argument(
        "--data-dir", type=path, help="Store all data in this directory (default: ~/.local/share/arroyo)"
    )
    parser.add_argument("--config", type=path, help="Read the settings from this TOML file")
    parser.add_argument(
        "--insecure",
        action="store_true",
        help="Allow a public address without a token of your own",
    )
    parser.add_argument(
        "--stop", action="store_true", help="Stop the control plane that uses --data-dir; its pipelines run on"
    )


@errors_shown
def run(args: Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM; or stop the control plane of the data directory."""
    if args.stop:
        return stop(args)
    from engine.server import serve  # noqa: PLC0415 - the other verbs start faster without the server's libraries
    from engine.settings import load  # noqa: PLC0415 - see above

    overrides = {
        "api.host": args.host,
        "api.port": args.port,
        "data_dir": args.data_dir,
        "api.insecure": args.insecure or None,
    }
    return serve(load(os.environ, args.config, {name: value for name, value in overrides.items() if value is not None}))


def stop(args: Namespace, pause: Callable[[float], None] = time.sleep) -> int:
    """Ask the control plane of the data directory to end, like Ctrl-C, and wait until it has."""
    from engine.settings import load  # noqa: PLC0415 - see above

    if any(value is not None for value in (args.host, args.port)) or args.insecure:
        raise RequestError("--stop takes no --host, --port or --insecure", hint="arroyo serve --stop --data-dir DIR")
    overrides = {"data_dir": args.data_dir} if args.data_dir else {}
    directory = DataDirectory(load(os.environ, args.config, overrides).data_dir)
    pid, url = read_pid(directory.server), read_address(directory.server)
    # a number that was written down long ago may be another process by now
    if pid is None or not is_locked(directory.lock) or not has_open(pid, directory.lock):
        raise UnreachableError(
            f"no control plane works in {directory.root}", hint="name its data directory with --data-dir"
        )
    os.kill(pid, signal.SIGTERM)
    for _ in range(_LOOKS):
        if not is_locked(directory.lock):
            say(f"the control plane at {url} has stopped; its pipelines run on")
            return 0
        pause(_PAUSE)
    raise UnreachableError(
        f"the control plane at {url} has not stopped after {_LOOKS * _PAUSE:g} s", hint="look at its log"
    )


SERVE = Command(add_arguments, run)


def add_ui_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("--no-browser", action="store_true", help="Print the link instead of opening it")
    add_connection(parser)


@errors_shown
def run_ui(args: Namespace) -> int:
    """Open the page with a link that creates one session."""
    client = connect(args)
    answer = client.send("POST", "/session/link", None)
    code = field_of(answer if isinstance(answer, dict) else {}, "path").rpartition("/")[2]
    url = urljoin(client.url, f"/#/login/{quote(code)}")  # whatever the path says, only this control plane is opened
    if args.no_browser or args.json or not webbrowser.open(url):
        show(args, {"url": url}, lambda link: str(link["url"]))
    return 0


UI = Command(add_ui_arguments, run_ui)


def add_sweep_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("--dry-run", action="store_true", help="Show what would be removed, and why")
    add_connection(parser)


@errors_shown
def run_sweep(args: Namespace) -> int:
    """Remove leftovers."""
    show(args, connect(args).send("POST", "/sweep" + ("?dry_run=true" if args.dry_run else ""), None), _listed)
    return 0


def _listed(answer: Mapping[str, Json]) -> str:
    size = field_of(answer, "bytes")
    leaks = answer.get("leaks")
    rows = [leak for leak in leaks if isinstance(leak, dict)] if isinstance(leaks, list) else []
    if not rows:
        return "nothing is left behind"
    lines = [(row.get("kind"), row.get("count"), row.get("bytes"), row.get("path"), row.get("reason")) for row in rows]
    words = "would go" if answer.get("dry_run") else "gone"
    return f"{table(('WHAT', 'COUNT', 'BYTES', 'WHERE', 'WHY'), lines)}\n{size} bytes of files {words}"


SWEEP = Command(add_sweep_arguments, run_sweep)
