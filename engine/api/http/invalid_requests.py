"""Explain why a request does not fit its model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from engine.api.http.bodies import PLAN_ID
from engine.jobs.address import NAME

_SHORT = 40
"""Largest length of a value that is shown."""
_SECRET = ("secret", "token", "password", "key", "lock", "settings", "code")
"""Parts of field names whose values are never shown."""
_EXPECTED = {
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_parsing": "a number",
    "float_type": "a number",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "string_type": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
_FORMS = {
    f"^{NAME}$": "must have no slash, no backslash and no control character",
    PLAN_ID: "must be the id of a plan, as `arroyo plan` shows it",
    "^[0-9]{1,18}$": "must be what an answer before has named",
}
_COMPARED = {
    "greater_than_equal": ("ge", "{} or more"),
    "less_than_equal": ("le", "{} or less"),
    "greater_than": ("gt", "more than {}"),
    "less_than": ("lt", "less than {}"),
    "literal_error": ("expected", "{}"),
    "enum": ("expected", "{}"),
}


def describe_fault(fault: Mapping[str, Any], content_type: str | None = None) -> str:
    """One thing that is wrong, as Pydantic tells of it. A kind that is not known here keeps Pydantic's words. A body
    that is not sent as JSON is not read: `content_type` is what it was sent as, without parameters."""
    kind, bounds = fault["type"], fault.get("ctx") or {}
    name = _name(fault["loc"])
    if tuple(fault["loc"]) == ("body",) and isinstance(fault.get("input"), bytes):
        sent = f"as {content_type[:_SHORT]}" if content_type else "without a content type"
        return f"the body must be JSON, and was sent {sent}: send the header Content-Type: application/json"
    if expected := _expected(kind, bounds):
        return f"{name} must be {expected}{_and_is(fault)}"
    match kind:
        case "missing":
            return f"{name} is missing"
        case "extra_forbidden":
            return f"{name} is not known here"
        case "json_invalid":
            return f"the body is not JSON: {bounds.get('error', fault['msg'])}"
        case "string_too_short" if bounds["min_length"] == 1:
            return f"{name} is empty"
        case "string_too_short":
            return f"{name} must have {bounds['min_length']} characters or more"
        case "string_too_long":
            return f"{name} must have {bounds['max_length']} characters or fewer"
        case "too_long":
            return f"{name} must have {bounds['max_length']} entries or fewer"
        case "string_pattern_mismatch":
            form = _FORMS.get(bounds["pattern"], f"must be of the form {bounds['pattern']}")
            return f"{name} {form}{_and_is(fault)}"
        case "value_error" if "error" in bounds:
            return f"{name}: {bounds['error']}"
    return f"{name}: {fault['msg']}"


def _expected(kind: str, bounds: Mapping[str, Any]) -> str | None:
    if kind in _COMPARED:
        bound, words = _COMPARED[kind]
        return words.format(bounds[bound])
    return _EXPECTED.get(kind)


def _name(place: Sequence[str | int]) -> str:
    """A field as its sender knows it: without the part of the request that it is in."""
    return ".".join(map(str, place[1:])) or f"the {place[0]}"


def _and_is(fault: Mapping[str, Any]) -> str:
    """The value, where it is short and cannot be a secret."""
    value = fault.get("input")
    parts = [str(part).lower() for part in fault["loc"]]
    if len(parts) < 2 or any(word in part for part in parts for word in _SECRET):
        return ""
    if not isinstance(value, (str, bool, int, float, type(None))):
        return ""
    shown = repr(value) if isinstance(value, str) else json.dumps(value)
    return f", and is {shown}" if len(shown) <= _SHORT else ""
