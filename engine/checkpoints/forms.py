"""Of which aggregates the state of an operator was when its query was first changed, as a checkpoint says it.

    checkpoint/forms.json     {"1": ["8a3f...", "0c71..."]}

See `engine.plan.forms`. It is of the checkpoint and goes with it, into savepoints and back.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engine.changes.verdict import Reform
from engine.checkpoints.contents import FORMS
from engine.checkpoints.layout import read_json, unreadable, write_json
from engine.plan.forms import Forms


def read_forms(checkpoint: Path) -> Forms:
    """The forms that a checkpoint names; refused when the file is damaged."""
    path = checkpoint / FORMS
    try:
        return {int(number): _form(form) for number, form in (read_json(path) or {}).items()}
    except ValueError as error:
        raise unreadable(path) from error


def write_forms(checkpoint: Path, forms: Forms) -> None:
    """Note them in a checkpoint, if there are any."""
    if forms:
        write_json(checkpoint / FORMS, {str(number): list(form) for number, form in forms.items()})


def carried_forms(old: Forms, kept: Mapping[int, int], reformed: Mapping[int, Reform]) -> Forms:
    """The forms of the state of a new query: what did not say in which form it is still does not."""
    forms = {number: old.get(before) for number, before in kept.items()}
    forms |= {number: old.get(reform.operator, reform.form) for number, reform in reformed.items()}
    return {number: form for number, form in forms.items() if form is not None}


def _form(form: object) -> tuple[str, ...]:
    match form:
        case list() if all(isinstance(meaning, str) for meaning in form):
            return tuple(form)
    raise ValueError(form)
