"""Of which aggregates the state of an operator was when its query was first changed, as a checkpoint says it.

    checkpoint/forms.json     {"1": ["8a3f...", "0c71..."]}
                              {"1": {"began_as": ["8a3f..."], "formerly": {"77c0...": ["8a3f..."]}}}

The second says that what is called 77c0 now is 8a3f over numbers that have become wider.
See `engine.plan.forms`. It is of the checkpoint and goes with it, into savepoints and back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from engine.changes.verdict import Reform
from engine.checkpoints.contents import FORMS
from engine.checkpoints.layout import read_json, unreadable, write_json
from engine.plan.forms import Form, Forms


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
        write_json(checkpoint / FORMS, {str(number): _to_json(form) for number, form in forms.items()})


def carried_forms(old: Forms, kept: Mapping[int, int], reformed: Mapping[int, Reform]) -> Forms:
    """The forms of the state of a new query: what did not say in which form it is still does not."""
    forms = {number: old.get(before) for number, before in kept.items()}
    forms |= {number: _reformed(old.get(reform.operator), reform) for number, reform in reformed.items()}
    return {number: form for number, form in forms.items() if form is not None}


def _reformed(form: Form | None, reform: Reform) -> Form:
    form = form or Form(reform.form)
    wider = {text: (before, *form.formerly.get(before, ())) for text, before in reform.formerly.items()}
    return replace(form, formerly={**form.formerly, **wider})


def _to_json(form: Form) -> object:
    if not form.formerly:
        return list(form.began_as)
    return {"began_as": list(form.began_as), "formerly": {text: list(old) for text, old in form.formerly.items()}}


def _form(form: object) -> Form:
    match form:
        case list():
            return Form(_texts(form))
        case {"began_as": began_as, "formerly": dict(formerly)}:
            return Form(_texts(began_as), {str(text): _texts(old) for text, old in formerly.items()})
    raise ValueError(form)


def _texts(texts: object) -> tuple[str, ...]:
    match texts:
        case list() if all(isinstance(text, str) for text in texts):
            return tuple(texts)
    raise ValueError(texts)
