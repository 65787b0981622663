"""Table of supported SQL, computed by compiling a sample of each feature."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal

from engine.compile import compile_script
from engine.docs.markdown import code, page, section, table
from engine.errors import ScriptRefused

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
    """A line for each feature: accepted, or refused with which error."""
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
    """The statement before all samples, and the samples. `--#` begins a group, `--:` a feature, `--+` one that
    only we accept, `--!` one that only Arroyo accepts."""
    events, *groups = text.split("\n--# ")
    declared = "\n".join(line for line in events.splitlines() if line and not line.startswith("--"))
    return declared, [feature for group in groups for feature in _features(group)]


def refusal(events: str, feature: Feature) -> str | None:
    """The code of the first complaint about a sample; None when it is accepted."""
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
