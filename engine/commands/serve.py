"""`arroyo serve`."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from engine.commands.base import Command, path
from engine.commands.remote import errors_shown
from engine.settings import load


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("--host", help="Listen on this address (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, help="Listen on this port; 0 takes a free one (default: 5115)")
    parser.add_argument(
        "--data-dir", type=path, help="Keep everything in this directory (default: ~/.local/share/arroyo)"
    )
    parser.add_argument("--config", type=path, help="Read the settings from this TOML file")
    parser.add_argument(
        "--insecure",
        action="store_true",
        help="Listen on an address that others can reach, even without a token of your own",
    )


@errors_shown
def run(args: Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM."""
    from engine.server import serve  # noqa: PLC0415 - the other verbs start faster without the server's libraries

    overrides = {
        "api.host": args.host,
        "api.port": args.port,
        "data_dir": args.data_dir,
        "api.insecure": args.insecure or None,
    }
    return serve(load(os.environ, args.config, {name: value for name, value in overrides.items() if value is not None}))


SERVE = Command("serve", "Run the control plane on this machine", add_arguments, run)
