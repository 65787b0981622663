"""The text that fingerprints are made of: states outlive the names of classes."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path

import pytest

from engine import schema, types
from engine.compile import compile_script
from engine.errors import ScriptRefused
from engine.plan.expressions import expr
from engine.plan.identity.fingerprint import TAGS, stable_text, tag_of
from engine.plan.nodes import joins, rows, updating, windowed
from engine.udf.declared import UdfFile
from tests.corpus.case import HERE

FILE = Path(__file__).with_name("fingerprints.json")
"""What the plan of each script of the corpus had as its fingerprint when states first outlived the code. Never written
anew: a line that differs is a state that can no longer be continued."""
FAMILIES = (expr, types, schema, joins, rows, updating, rows, windowed, updating, windowed)


def declared() -> list[type]:
    """Every class that a plan can be made of."""
    return [
        kind
        for family in FAMILIES
        for _, kind in inspect.getmembers(family, inspect.isclass)
        if is_dataclass(kind) and kind.__module__ == family.__name__
    ]


def fingerprint_of(path: Path) -> str | None:
    """That of a script's plan, wherever the corpus lies; none if it is refused."""
    text = path.read_text().replace("$inputs", "/inputs").replace("$output", "/output")
    udfs = path.with_suffix(".py")
    try:
        return compile_script(text, udfs=[UdfFile(udfs.name, udfs.read_text())] if udfs.exists() else []).fingerprint
    except ScriptRefused:
        return None


def test_fingerprints_stay_what_they_were() -> None:
    before = json.loads(FILE.read_text())

    assert {name: fingerprint_of(HERE / "cases" / f"{name}.sql") for name in before} == before


@pytest.mark.parametrize("kind", declared(), ids=lambda kind: f"{kind.__module__}.{kind.__qualname__}")
def test_every_part_of_a_plan_has_a_tag_for_each_field(kind: type) -> None:
    tag = tag_of(kind)

    assert len(tag.fields) + len(tag.later) == len(fields(kind))


def test_tags_are_given_once() -> None:
    names = [tag_of(kind).name for kind in TAGS if kind is not types.Member]

    assert len(set(names)) == len(names)


def test_a_class_without_a_tag_is_refused() -> None:
    with pytest.raises(TypeError, match="object has no tag"):
        stable_text((1, object()))


def test_names_of_classes_and_fields_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class Pick:
        source: str
        test: int
        later: int = 7

    monkeypatch.setattr("engine.plan.identity.fingerprint.TAGS", {Pick: "Filter(input, condition; limit)"})

    assert stable_text(Pick("rows", 1)) == "Filter(input='rows', condition=1)"
    assert stable_text(Pick("rows", 1, 8)) == "Filter(input='rows', condition=1, limit=8)"
