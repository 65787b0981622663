"""The rows of the matrix: what is changed of a script, and for which kinds of state that can be said at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from tests.upgrade_matrix.scripts import Script
from tests.upgrade_matrix.shapes import OF_ROWS, SHAPES, UPDATING, WINDOWS, Form, Shape

ALL = frozenset(SHAPES)


@dataclass(frozen=True, slots=True)
class ScriptChange:
    """A row. `form` is done to each branch, `script` to what is said besides; `base` is what it is done to. It may
    have a `consent` for every operator."""

    name: str
    form: Callable[[Form], Form] = lambda form: form
    script: Callable[[Script], Script] = lambda script: script
    base: Form = Form()  # noqa: RUF009 - it is frozen
    base_script: Callable[[Script], Script] = lambda script: script
    shapes: frozenset[Shape] = ALL
    consent: Literal["", "keep_state", "reset"] = ""

    def before(self, shapes: frozenset[Shape]) -> Script:
        """The script of some branches before it."""
        return self.base_script(Script({shape: self.base for shape in SHAPES if shape in shapes}))

    def after(self, shapes: frozenset[Shape], changed: frozenset[Shape] | None = None) -> Script:
        """The script afterwards, in which only some of the branches have `changed`."""
        touched = shapes if changed is None else changed
        forms = {shape: self.form(self.base) if shape in touched else self.base for shape in SHAPES if shape in shapes}
        return self.script(replace(self.before(shapes), forms=forms))


def _other(what: Literal["another branch", "another sink"]) -> Callable[[Script], Script]:
    return lambda script: replace(script, others=script.others | {what})


def _parted(form: Callable[[Form], Form]) -> Callable[[Script], Script]:
    return lambda script: replace(script, parted=form)


def _widen(form: Form) -> Form:
    return replace(form, width=20, limit=3)


_KAFKA = "kafka:9092"
CHANGES = (
    ScriptChange("layout, comments, order of INSERTs", script=lambda script: replace(script, style=1)),
    ScriptChange("a filter behind the state", lambda form: replace(form, behind=True)),
    ScriptChange("another projection behind the state", lambda form: replace(form, adds=1)),
    ScriptChange("a new stateless column, in a sink of JSON", lambda form: replace(form, extra_column=True)),
    ScriptChange("another sink for the same rows", script=_other("another sink")),
    ScriptChange(
        "another projection for one of two sinks",
        script=_parted(lambda form: replace(form, adds=1)),
        base_script=_other("another sink"),
    ),
    ScriptChange(
        "a new aggregate for one of two sinks",
        script=_parted(lambda form: replace(form, kept=("n", "s", "hi"))),
        base_script=_other("another sink"),
        shapes=ALL - OF_ROWS,
    ),
    ScriptChange(
        "a filter in front for one of two sinks",
        script=_parted(lambda form: replace(form, front=True)),
        base_script=_other("another sink"),
    ),
    ScriptChange("another independent branch", script=_other("another branch")),
    ScriptChange(
        "code of a function behind the state",
        lambda form: replace(form, function_behind=2),
        base=Form(function_behind=1),
        shapes=ALL - {"UDAF"},
    ),
    ScriptChange("a new aggregate", lambda form: replace(form, kept=("n", "s", "hi")), shapes=ALL - OF_ROWS),
    ScriptChange("an aggregate removed", lambda form: replace(form, kept=("n",)), shapes=ALL - OF_ROWS),
    ScriptChange("a new column that is kept", lambda form: replace(form, kept=("n", "s", "hi")), shapes=OF_ROWS),
    ScriptChange("a column that is kept removed", lambda form: replace(form, kept=("n",)), shapes=OF_ROWS),
    ScriptChange("another time to live", script=lambda script: replace(script, ttl=48), shapes=UPDATING),
    ScriptChange("a filter in front of the state", lambda form: replace(form, front=True)),
    ScriptChange("a filter in front, with --keep-state", lambda form: replace(form, front=True), consent="keep_state"),
    ScriptChange(
        "code of a function in front of the state",
        lambda form: replace(form, function_in_front=2),
        base=Form(function_in_front=1),
        shapes=ALL - {"UDAF"},
    ),
    ScriptChange("code of the UDAF itself", lambda form: replace(form, middle=2), shapes=frozenset({"UDAF"})),
    ScriptChange("other keys, or another join condition", lambda form: replace(form, key="upper(key)")),
    ScriptChange("other keys, with --reset", lambda form: replace(form, key="upper(key)"), consent="reset"),
    ScriptChange("another width, or limit of a ranking", _widen, shapes=WINDOWS | {"top-N"}),
    ScriptChange("another width, with --reset", _widen, shapes=WINDOWS, consent="reset"),
    ScriptChange(
        "a type of a source widened",
        script=lambda script: replace(script, number="BIGINT"),
        base_script=lambda script: replace(script, number="INT"),
    ),
    ScriptChange(
        "a type of a source narrowed",
        script=lambda script: replace(script, number="INT"),
    ),
    ScriptChange(
        "brokers of a source",
        script=lambda script: replace(script, broker="kafka-2:9092"),
        base_script=lambda script: replace(script, broker=_KAFKA),
    ),
    ScriptChange(
        "a new stateless column, in a sink of Parquet",
        lambda form: replace(form, extra_column=True),
        base_script=lambda script: replace(script, sinks="parquet"),
        shapes=WINDOWS,
    ),
)
