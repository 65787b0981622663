"""Under what a script is to write: its argument."""

from __future__ import annotations

from argparse import ArgumentParser


def add_into_argument(parser: ArgumentParser) -> None:
    """The argument."""
    parser.add_argument(
        "--into",
        metavar="PREFIX",
        help="Write elsewhere: files into a folder PREFIX beside their own, records to topics and keys PREFIX-NAME "
        "(default: where the script says)",
    )
