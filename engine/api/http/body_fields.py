"""List the fields of a body at a place, for hints about misspelt ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, get_args

from fastapi.routing import APIRoute
from pydantic import BaseModel

from engine.api.http.query_parameters import near_name


def near_field(route: object, place: Sequence[str | int]) -> str | None:
    """Return the hint for an unknown field of a request's body: the known field most like it, or all that are known;
    None where the body has no model. `place` is where Pydantic has found it, such as `("body", "udfs", 0, "kind")`."""
    body = route.body_field if isinstance(route, APIRoute) else None
    if body is None or not place or place[0] != "body":
        return None
    models = list(_models(body.field_info.annotation))
    for part in place[1:-1]:
        inner = [found for model in models for found in _models(_annotations(model).get(str(part)))]
        models = inner or models  # a number of a list, or the tag of a union, is no field
    known = {name for model in models for name in _annotations(model)}
    return near_name(str(place[-1]), known, "it has no fields") if models else None


def _annotations(model: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that are anywhere in an annotation, such as that of a list or a union."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)
