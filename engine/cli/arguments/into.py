"""Under what a script is to write: its argument."""

from __future__ import annotations

from argparse import ArgumentParser


def add_into_argument(parser: ArgumentParser) -> None:
    """The argument."""
    parser.add_argument(
        "--into",
        metavar="PREFIX",
        help="Write under a prefix: files to a directory PREFIX beside the original, records to topics and keys "
        "PREFIX-NAME",
    )
