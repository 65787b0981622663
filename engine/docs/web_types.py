"""Generate the TypeScript types of the REST API for the web UI."""

from __future__ import annotations

import json
import re
from typing import Any

from engine.docs.api import describe_api

_HEAD = "// Written by `make docs` from the declarations in the code. Do not edit.\n"
_SIMPLE = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def web_types() -> str:
    """Every object that is sent or answered, each as an interface or as a type."""
    schemas = describe_api().get("components", {}).get("schemas", {})
    named = [(name, schema) for name, schema in sorted(schemas.items()) if not name.startswith(("HTTP", "Validation"))]
    return "\n".join([_HEAD, *(_declare(_name(name), schema) for name, schema in named)])


def _declare(name: str, schema: dict[str, Any]) -> str:
    about = _comment(schema.get("description", ""), "")
    if "properties" not in schema:
        return f"{about}export type {name} = {_type(schema)};\n"
    required = set(schema.get("required", ()))
    fields = "".join(_field(key, field, key in required) for key, field in schema["properties"].items())
    return f"{about}export interface {name} {{\n{fields}}}\n"


def _field(name: str, schema: dict[str, Any], is_required: bool) -> str:
    about = _comment(schema.get("description", ""), "  ")
    return f"{about}  {_key(name)}{'' if is_required else '?'}: {_type(schema)};\n"


def _comment(text: str, indent: str) -> str:
    return f"{indent}/** {' '.join(text.split()).replace('*/', '* /')} */\n" if text else ""


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else json.dumps(name)


def _name(name: str) -> str:
    """A name without what no type has in its name: `Page_Job_` is `PageJob`, and `Change-Input` is `ChangeInput`."""
    return re.sub(r"\W|_", "", name)


def _type(schema: dict[str, Any]) -> str:
    match schema:
        case {"$ref": str(place)}:
            return _name(place.rpartition("/")[2])
        case {"enum": list(values)}:
            return " | ".join(json.dumps(value) for value in values)
        case {"const": value}:
            return json.dumps(value)
        case {"anyOf": list(choices)} | {"oneOf": list(choices)}:
            return " | ".join(dict.fromkeys(map(_type, choices)))
        case {"allOf": [single]}:
            return _type(single)
        case {"type": "array", "items": dict(items)}:
            return f"({_type(items)})[]" if "anyOf" in items or "enum" in items else f"{_type(items)}[]"
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"Record<string, {_type(values)}>"
        case {"type": "object"}:
            return "Record<string, unknown>"
        case {"type": str(name)} if name in _SIMPLE:
            return _SIMPLE[name]
    return "unknown"
