"""`arroyo ui`."""

from __future__ import annotations

import webbrowser
from argparse import ArgumentParser, Namespace
from urllib.parse import quote, urljoin

from engine.cli.base import Command
from engine.cli.client import field_of
from engine.cli.remote import add_connection, connect, errors_shown, show


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("--no-browser", action="store_true", help="Print the link instead of opening it")
    add_connection(parser)


@errors_shown
def run(args: Namespace) -> int:
    """Open the page with a link that lets in once."""
    client = connect(args)
    answer = client.send("POST", "/session/link", None)
    code = field_of(answer if isinstance(answer, dict) else {}, "path").rpartition("/")[2]
    url = urljoin(client.url, f"/#/login/{quote(code)}")  # whatever the path says, only this control plane is opened
    if args.no_browser or args.json or not webbrowser.open(url):
        show(args, {"url": url}, lambda link: str(link["url"]))
    return 0


UI = Command(add_arguments, run)
