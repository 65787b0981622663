"""`python -m engine.docs.changelog VERSION DATE`: move the files in changes/ into a release of CHANGELOG.md.

changes/delta.added.md     A connector `delta` ...       ## 0.1.0 (2026-11-23)
changes/delta.fixed.md     A table that was ...          ### Added
- A connector `delta` ...
### Fixed
- A table that was ...
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import Literal

from engine.compile import compile_script
from engine.docs.models import code, page, section, table
from engine.errors import ScriptRefused, message_of

KINDS = ("added", "changed", "fixed", "removed")
_NAME = re.compile(r"([a-z0-9-]+)\.(" + "|".join(KINDS) + r")\.md")
_VERSION = re.compile(r"\d+\.\d+\.\d+")


def change_files(folder: Path) -> list[Path]:
    """Return the changes of a folder by kind, then by name; a file whose name says no kind is refused."""
    paths = [path for path in folder.iterdir() if path.name != "README.md"]
    if misnamed := [path.name for path in paths if not _NAME.fullmatch(path.name)]:
        raise ValueError(f"{misnamed[0]} is not named <short-name>.<{'|'.join(KINDS)}>.md")
    return sorted(paths, key=lambda path: (KINDS.index(_kind(path)), path.name))


def release_section(folder: Path, version: str, day: date) -> str:
    """Return the section of one release."""
    parts = [f"## {version} ({day.isoformat()})"]
    for kind, paths in groupby(change_files(folder), key=_kind):
        parts += [f"### {kind.capitalize()}", "\n".join(_entry(path) for path in paths)]
    return "\n\n".join(parts) + "\n"


def release(root: Path, version: str, day: date) -> None:
    """Put the release on top of CHANGELOG.md and empty changes/; nothing is written when something is wrong."""
    path, folder = root / "CHANGELOG.md", root / "changes"
    text = path.read_text()
    if not _VERSION.fullmatch(version):
        raise ValueError(f"{version!r} is not a version such as 0.1.0")
    if f"\n## {version} " in text:
        raise ValueError(f"{version} has been released already")
    files = change_files(folder)
    if not files:
        raise ValueError("there is nothing to release: changes/ is empty")
    head, mark, releases = text.partition("\n## ")
    path.write_text(f"{head.rstrip()}\n\n{release_section(folder, version, day)}{mark}{releases}")
    for file in files:
        file.unlink()


def _kind(path: Path) -> str:
    return path.name.split(".")[1]


def _entry(path: Path) -> str:
    text = " ".join(path.read_text().split())
    return fill(text, 120, initial_indent="- ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    try:
        release(Path(), sys.argv[1], date.fromisoformat(sys.argv[2]))
    except (IndexError, ValueError) as wrong:
        sys.exit(f"make changelog VERSION=0.1.0 DATE=2026-01-31: {message_of(wrong)}")


_ACCEPTED_BY: Mapping[str, Literal["both", "we", "Arroyo"]] = {
    "--:": "both",
    "--+": "we",
    "--!": "Arroyo",
}
_COLUMNS = ("feature", "", "in Arroyo", "sample")
_SAMPLES = Path(__file__).with_name("features.sql")


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature, and the shortest script that uses it."""

    group: str
    name: str
    sample: str
    accepted_by: Literal["both", "we", "Arroyo"]
    """Which system accepts it, as far as known for Arroyo; `both` may refuse it, too."""


def sql_support_page() -> str:
    """Return a line for each feature: accepted, or refused with its error."""
    events, features = read_features(_SAMPLES.read_text())
    introduction = (
        "Every line was tested by compiling its sample, with the table below declared beforehand. The functions "
        f"have [their own page](functions.md), and so have the [errors](errors.md).\n\n```sql\n{events}\n```"
    )
    groups = groupby(features, key=lambda feature: feature.group)
    return page(
        "SQL: what is supported",
        introduction,
        [
            section(
                group,
                table(_COLUMNS, [_row(events, feature) for feature in members]),
            )
            for group, members in groups
        ],
    )


def read_features(text: str) -> tuple[str, list[Feature]]:
    """Return the statement before all samples, and the samples. `--#` begins a group, `--:` a feature, `--+` one that
    only we accept, `--!` one that only Arroyo accepts."""
    events, *groups = text.split("\n--# ")
    declared = "\n".join(line for line in events.splitlines() if line and not line.startswith("--"))
    return declared, [feature for group in groups for feature in _features(group)]


def refusal(events: str, feature: Feature) -> str | None:
    """Return the code of the first complaint about a sample; None when it is accepted."""
    try:
        compile_script(f"{events}\n{feature.sample}")
    except ScriptRefused as refused:
        return refused.complaints[0].code
    return None


def _features(group: str) -> Iterator[Feature]:
    title, *samples = re.split(r"\n(?=--[:+!] )", group)
    for sample in samples:
        name, script = sample.split("\n", 1)
        yield Feature(title.strip(), name[3:].strip(), script.strip(), _ACCEPTED_BY[name[:3]])


def _row(events: str, feature: Feature) -> list[str]:
    refused = refusal(events, feature)
    answer = "yes" if refused is None else f"no: {code(refused)}"
    reference = {"we": "no", "Arroyo": "yes", "both": "" if refused else "yes"}[feature.accepted_by]
    return [feature.name, answer, reference, code(" ".join(feature.sample.split()).replace("`", "´"))]
