"""`arroyo doctor`: check what a state relies on."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from dataclasses import asdict

from engine.cli.base import Command
from engine.cli.remote import say, table
from engine.cli.terminal import complain
from engine.errors import EngineError, UnfitStorageError

_UNFIT = 1


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("subject", choices=("storage",), help="Check a storage for states")
    parser.add_argument(
        "url", metavar="URL", help="Write below this location, and delete that again: s3://bucket/prefix, or a folder"
    )
    parser.add_argument("--json", action="store_true", help="Print JSON")


def _run(arguments: Namespace) -> int:
    from engine.checkpoints.storage_probe import open_storage, probe_storage  # noqa: PLC0415 - `--help` is quick

    try:
        findings = probe_storage(open_storage(arguments.url))
        if arguments.json:
            say(json.dumps([asdict(finding) for finding in findings], indent=2))
        else:
            rows = [(finding.verdict, finding.check, finding.text) for finding in findings]
            say(table(("VERDICT", "CHECK", ""), rows))
        if unfit := [finding for finding in findings if finding.verdict == "unfit"]:
            raise UnfitStorageError(
                f"{arguments.url} cannot store a state: {unfit[0].check}: {unfit[0].text}",
                hint="use a store that supports conditional requests, such as Amazon S3 or a recent compatible one, "
                "and a prefix that no lifecycle rule deletes or archives",
            )
    except EngineError as error:
        complain(error)
        return _UNFIT
    return 0


DOCTOR = Command(_arguments, _run)
