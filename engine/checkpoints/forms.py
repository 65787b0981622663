"""Read and write the former aggregates of operators whose query was changed, in `forms.json` of a checkpoint.

    checkpoint/forms.json     {"1": ["8a3f...", "0c71..."]}
                              {"1": {"began_as": ["8a3f..."], "formerly": {"77c0...": ["8a3f..."]}}}
                              {"2": {"began_as": null, "formerly": {}, "formers": [[["i32"], []], [["i32"]]]}}
                              {"3": {"began_as": null, "formerly": {}, "retelling": ["41:9c..", "(c1 > 3)", 42]}}

The second line: the operator with the id 77c0 has the state of 8a3f with numbers of a wider type. The third: the former
types of values that an operator stores by hash. The fourth: the rows that an aggregate emitted before its condition was
changed, and the epoch from which on it emits other rows. See `engine.plan.state.forms`. The file is part of the
checkpoint, and so of savepoints.

Form of an operator's state, as in Spark's files. State can be kept only between operators of the same form.

    state/0/_metadata/metadata   windows: name "stateStoreSave", one store "default" in 2 partitions
    state/0/0/_metadata/schema   its keys are (_window, _key0_of_group), its values (count)

    state/1/_metadata/v2/0       shards: name "transformWithState...", variables "head" and "chunks", and the path of
                                 the schemas: file:/states/a/checkpoint/state/1/_stateSchema/default/0_99a6

The path of a schema, the number of the operator and the number of partitions are not part of the form. The form does
not show whether two operators have the same *meaning*.

Read and write the operators whose state is stored by pane, in a checkpoint: see `engine.plan.state.panes`.

    checkpoint/panes.json     {"format": 1, "operators": [0, 2]}

Without the file all windows are stored in Spark's form. It is written before the first epoch, and is part of the
checkpoint, and so of savepoints.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from engine.changes.verdict import Reform
from engine.checkpoints import spark_log
from engine.checkpoints.layout import read_json, read_text, unreadable, write_json
from engine.checkpoints.manifest import FORMS, PANES
from engine.checkpoints.spark_log import operator_metadata
from engine.plan.nodes import Retelling
from engine.plan.state.forms import Form, Forms
from engine.plan.state.width_marks import FormersText, formers_of

_NOBODY_IS_TOLD: Mapping[int, Retelling] = {}


def read_forms(checkpoint: Path) -> Forms:
    """Return the forms that a checkpoint names; raise an error if the file is damaged."""
    path = checkpoint / FORMS
    try:
        return {int(number): _form(form) for number, form in (read_json(path) or {}).items()}
    except ValueError as error:
        raise unreadable(path) from error


def write_forms(checkpoint: Path, forms: Forms) -> None:
    """Write forms into a checkpoint, if there are any."""
    if forms:
        write_json(checkpoint / FORMS, {str(number): _to_json(form) for number, form in forms.items()})


def carried_forms(
    old: Forms,
    kept: Mapping[int, int],
    reformed: Mapping[int, Reform],
    retold: Mapping[int, Retelling] = _NOBODY_IS_TOLD,
) -> Forms:
    """Return the forms of a new query's state. An operator without a recorded form still has none. `retold` has the
    re-emissions that are to be made; all earlier ones are dropped."""
    without = {number: replace(form, retelling=None) for number, form in old.items()}
    # one that has only told something says nothing of its form
    told = {number: form for number, form in without.items() if form != Form(None)}
    forms = {number: told.get(before) for number, before in kept.items()}
    forms |= {number: _reformed(told.get(reform.operator), reform) for number, reform in reformed.items()}
    for number, retelling in retold.items():
        forms[number] = replace(forms.get(number) or Form(None), retelling=retelling)
    return {number: form for number, form in forms.items() if form is not None and form != Form(None)}


def untold(forms: Forms, epoch: int | None) -> Mapping[int, Retelling]:
    """Return the re-emissions that a state with this newest epoch has yet to make, by operator."""
    retellings = {number: form.retelling for number, form in forms.items() if form.retelling is not None}
    return {number: retelling for number, retelling in retellings.items() if epoch is None or epoch < retelling.epoch}


def tell_later(checkpoint: Path, epoch: int) -> None:
    """Postpone the missing re-emissions of a checkpoint to the epoch after next: something else takes the number after
    `epoch`."""
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
    """Return the former types of values, and the types that this reform replaces; nothing if there are none."""
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


_SCHEMA_PATHS = "stateSchemaFilePaths"
_WIDTH = "numPartitions"


@dataclass(frozen=True, slots=True)
class OperatorForm:
    """Name of an operator, Spark's description of its stores, and their schemas as stored."""

    name: str
    stores: str
    schemas: Mapping[str, tuple[bytes, ...]]


def operator_numbers(checkpoint: Path) -> list[int]:
    """Return the numbers of the operators that keep state, in order."""
    folder = checkpoint / "state"
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    return sorted(int(name) for name in names if name.isdigit())


def read_form(checkpoint: Path, number: int) -> OperatorForm:
    """Return the form of an operator's state; raise an error if it is not recorded, or damaged."""
    folder = checkpoint / "state" / str(number)
    path = operator_metadata(folder)
    try:
        about = json.loads(read_text(path).partition("\n")[2])
        name, stores = str(about["operatorInfo"]["operatorName"]), about["stateStoreInfo"]
        listed = {str(store["storeName"]): store.get(_SCHEMA_PATHS, ()) for store in stores}
        noted = [_form_of_store(store) for store in stores]
        others = {key: value for key, value in about.items() if key not in ("operatorInfo", "stateStoreInfo")}
        schemas = {store: tuple(_listed_schema(folder, str(file)) for file in files) for store, files in listed.items()}
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise unreadable(path) from error
    own = {str(file.relative_to(folder)): (file.read_bytes(),) for file in sorted(folder.glob("[0-9]*/**/schema"))}
    return OperatorForm(name, json.dumps([noted, others], sort_keys=True), schemas | own)


def _form_of_store(store: Mapping[str, object]) -> dict[str, object]:
    """Return the recorded form of a store: the number of its schemas instead of their paths, and no width, since Spark
    keeps the old width when it repartitions a state."""
    paths = store.get(_SCHEMA_PATHS, ())
    noted = {key: value for key, value in store.items() if key != _WIDTH}
    return {**noted, _SCHEMA_PATHS: len(paths) if isinstance(paths, list | tuple) else paths}


def is_data(within: Path) -> bool:
    """Whether a file of an operator, by its path within the operator's folder, belongs to the data of a partition."""
    return within.parts[0].isdigit() and "_metadata" not in within.parts


def _listed_schema(folder: Path, file: str) -> bytes:
    """Return a schema with its path, whichever checkpoint it was listed in."""
    _, separator, within = file.rpartition(f"/state/{folder.name}/")
    if not separator:
        raise ValueError(file)
    return (folder / within).read_bytes()


_FORMAT = 1
"""Format version: raise it when the storage of panes changes (columns, key hash, number of shards)."""


def read_panes(checkpoint: Path) -> frozenset[int]:
    """Return the numbers of the operators whose state is stored by pane; raise an error if the file is damaged."""
    path = checkpoint / PANES
    match read_json(path):
        case None:
            return frozenset()
        case {"format": int(form), "operators": list(numbers)} if form == _FORMAT and all(map(_is_number, numbers)):
            return frozenset(numbers)
    raise unreadable(path)


def write_panes(checkpoint: Path, numbers: Collection[int]) -> None:
    """Write the numbers of these operators into a checkpoint, if there are any."""
    if numbers:
        write_json(checkpoint / PANES, {"format": _FORMAT, "operators": sorted(numbers)})


def is_begun(checkpoint: Path) -> bool:
    """Whether a query has planned an epoch: from then on the state of its operators has a form."""
    return bool(spark_log.numbers(checkpoint / "offsets")) or (checkpoint / PANES).exists()


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
