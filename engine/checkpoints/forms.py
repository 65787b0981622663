"""Read and write the former aggregates of operators whose query was changed, in `forms.json` of a checkpoint.

    checkpoint/forms.json     {"1": ["8a3f...", "0c71..."]}
                              {"1": {"began_as": ["8a3f..."], "formerly": {"77c0...": ["8a3f..."]}}}
                              {"2": {"began_as": null, "formerly": {}, "formers": [[["i32"], []], [["i32"]]]}}
                              {"3": {"began_as": null, "formerly": {}, "retelling": ["41:9c..", "(c1 > 3)", 42]}}

The second line: the operator with the id 77c0 has the state of 8a3f with numbers of a wider type. The third: the former
types of values that an operator stores by hash. The fourth: the rows that an aggregate emitted before its condition was
changed, and the epoch from which on it emits other rows. See `engine.plan.state.forms`. The file is part of the
checkpoint, and so of savepoints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from engine.changes.verdict import Reform
from engine.checkpoints.contents import FORMS
from engine.checkpoints.layout import read_json, unreadable, write_json
from engine.plan.nodes import Retelling
from engine.plan.state.forms import Form, Forms
from engine.plan.state.width_marks import FormersText, formers_of

_NOBODY_IS_TOLD: Mapping[int, Retelling] = {}


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


def carried_forms(
    old: Forms,
    kept: Mapping[int, int],
    reformed: Mapping[int, Reform],
    retold: Mapping[int, Retelling] = _NOBODY_IS_TOLD,
) -> Forms:
    """The forms of the state of a new query: what did not say in which form it is still does not. What was to be told
    of the query before is `retold` or known by now."""
    without = {number: replace(form, retelling=None) for number, form in old.items()}
    # one that has only told something says nothing of its form
    told = {number: form for number, form in without.items() if form != Form(None)}
    forms = {number: told.get(before) for number, before in kept.items()}
    forms |= {number: _reformed(told.get(reform.operator), reform) for number, reform in reformed.items()}
    for number, retelling in retold.items():
        forms[number] = replace(forms.get(number) or Form(None), retelling=retelling)
    return {number: form for number, form in forms.items() if form is not None and form != Form(None)}


def untold(forms: Forms, epoch: int | None) -> Mapping[int, Retelling]:
    """Return the re-emissions that a state with this newest epoch still has to make, by operator."""
    retellings = {number: form.retelling for number, form in forms.items() if form.retelling is not None}
    return {number: retelling for number, retelling in retellings.items() if epoch is None or epoch < retelling.epoch}


def tell_later(checkpoint: Path, epoch: int) -> None:
    """Let a checkpoint, of which something takes the number after this epoch, tell in the next one what is untold."""
    forms = read_forms(checkpoint)
    later = {number: replace(retelling, epoch=epoch + 2) for number, retelling in untold(forms, epoch).items()}
    if later:
        put_off = {number: replace(forms[number], retelling=retelling) for number, retelling in later.items()}
        write_forms(checkpoint, {**forms, **put_off})


def _reformed(form: Form | None, reform: Reform) -> Form:
    form = form or Form(reform.form)
    wider = {text: (before, *form.formerly.get(before, ())) for text, before in reform.formerly.items()}
    return replace(form, formerly={**form.formerly, **wider}, formers=_formers(form.formers, reform))


def _formers(old: FormersText, reform: Reform) -> FormersText:
    """The types that values were in, with those that they have left now; nothing where they have left none."""
    formers = []
    for place, before in zip(reform.groups, reform.widened, strict=True):
        known = old[place] if old and place is not None else ((),) * len(before)
        formers.append(tuple((*types, *filter(None, [kind])) for types, kind in zip(known, before, strict=True)))
    has_any = any(types for group in formers for types in group)
    return tuple(formers) if has_any else ()


def _to_json(form: Form) -> object:
    if form.began_as is not None and not form.formerly and not form.formers and form.retelling is None:
        return list(form.began_as)
    formerly = {text: list(old) for text, old in form.formerly.items()}
    formers = {"formers": form.formers} if form.formers else {}
    told = form.retelling
    retelling = {} if told is None else {"retelling": [told.id, told.passed, told.epoch]}
    return {"began_as": form.began_as, "formerly": formerly, **formers, **retelling}


def _form(form: object) -> Form:
    match form:
        case list():
            return Form(_texts(form))
        case {"began_as": began_as, "formerly": dict(formerly), **further}:
            formers = tuple(tuple(map(_texts, group)) for group in _groups(further.get("formers", [])))
            formers_of(formers)
            earlier = {str(text): _texts(old) for text, old in formerly.items()}
            retelling = _retelling(further.get("retelling"))
            return Form(None if began_as is None else _texts(began_as), earlier, formers, retelling)
    raise ValueError(form)


def _retelling(content: object) -> Retelling | None:
    match content:
        case None:
            return None
        case [str(name), str(passed), int(epoch)]:
            return Retelling(name, passed, epoch)
    raise ValueError(content)


def _groups(groups: object) -> list[list[object]]:
    match groups:
        case list() if all(isinstance(group, list) for group in groups):
            return groups
    raise ValueError(groups)


def _texts(texts: object) -> tuple[str, ...]:
    match texts:
        case list() if all(isinstance(text, str) for text in texts):
            return tuple(texts)
    raise ValueError(texts)
