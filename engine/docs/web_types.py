"""Generate the TypeScript types of the REST API for the web UI."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from fastapi import FastAPI

from engine.api.app import include_routers
from engine.api.http.description import describe
from engine.docs.models import code, page, section, sentence, table
from engine.jobs.address import API_PREFIX

_HEAD = "// Written by `make docs` from the declarations in the code. Do not edit.\n"
_SIMPLE = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def web_types() -> str:
    """Return every object that is sent or answered, each as an interface or as a type."""
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
    """Return a name without what no type has in its name: `Page_Job_` is `PageJob`, and `Change-Input` is
    `ChangeInput`."""
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


_INTRODUCTION = (
    f"Paths are below `{API_PREFIX}`. Send `Authorization: Bearer <token>`. Times are microseconds since 1970. "
    'Lists are `{"data": [...], "has_more": bool}` (`hasMore` is the same, as Arroyo spells it). '
    "Errors are `application/problem+json` with a `code` of the [error reference](errors.md). "
    f"The control plane serves the OpenAPI document at `{API_PREFIX}/api-docs/openapi.json`, and a viewer at `/docs`."
)
_VERBS = ("get", "put", "post", "patch", "delete")
_RESOURCES: Mapping[str, tuple[str, ...]] = {
    "Pipelines": ("pipelines",),
    "Jobs": ("jobs", "logs", "output", "state", "written", "secrets", "lineage"),
    "Watermarks and certificates": ("watermark", "certificates"),
    "Savepoints": ("savepoints", "savepoint-imports", "savepoint-retention", "savepoint-schedule", "restore", "fork"),
    "Upgrades": ("plan", "rehearsals", "rollback", "validate_query"),
    "Reprocessing": ("reprocess", "hand-over"),
    "Moves": ("departure", "arrivals"),
    "Events": ("events", "changes"),
    "Partitions": ("partitions",),
    "Connections, tables and functions": (
        "connection_profiles",
        "connection_tables",
        "udfs",
        "connectors",
        "completions",
    ),
    "Server": ("ping", "tokens", "session", "storage", "sweep"),
}
"""Resources and the path segments that belong to them. The last listed segment decides."""
_SEGMENTS = {segment: resource for resource, segments in _RESOURCES.items() for segment in segments}
_SEGMENTS["savepoint-schedules"] = "Savepoints"
_COMMON = "Common objects"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A path with a method."""

    verb: str
    path: str
    about: Mapping[str, Any]

    @property
    def resource(self) -> str:
        """Return the resource that the path belongs to."""
        segments = self.path.removeprefix(API_PREFIX).strip("/").split("/")
        return [_SEGMENTS[segment] for segment in segments if segment in _SEGMENTS][-1]

    @property
    def title(self) -> str:
        """Return the verb and the path."""
        return f"{self.verb.upper()} {self.path.removeprefix(API_PREFIX)}"


def api_page() -> str:
    """Return the index of all endpoints, by resource."""
    listed = [
        section(
            resource, table(["endpoint", ""], [_row(endpoint) for endpoint in of_resource(resource)]), _link(resource)
        )
        for resource in _RESOURCES
    ]
    return page("REST API", _INTRODUCTION, [*listed, section(_COMMON, _link(_COMMON))])


def api_pages() -> dict[str, Callable[[], str]]:
    """Return a page for each resource, and one of shared objects, by its path without the ending."""
    return {_path(resource): partial(_resource_page, resource) for resource in (*_RESOURCES, _COMMON)}


@cache
def describe_api() -> dict[str, Any]:
    """Return the OpenAPI description; no server is needed."""
    app = FastAPI(title="Arroyo control plane")
    include_routers(app)
    return describe(app)


@cache
def endpoints() -> tuple[Endpoint, ...]:
    """Return every endpoint, in the order of the description."""
    paths = describe_api()["paths"].items()
    return tuple(
        Endpoint(verb, path, about) for path, verbs in paths for verb, about in verbs.items() if verb in _VERBS
    )


def of_resource(resource: str) -> list[Endpoint]:
    """Return the endpoints of a resource."""
    return [endpoint for endpoint in endpoints() if endpoint.resource == resource]


@cache
def places() -> Mapping[str, str]:
    """Return the page of each object: its resource, or the page of shared objects if several resources use it."""
    users: dict[str, set[str]] = {}
    for endpoint in endpoints():
        for name in _reached(endpoint.about):
            users.setdefault(name, set()).add(endpoint.resource)
    return {name: next(iter(resources)) if len(resources) == 1 else _COMMON for name, resources in users.items()}


def _schemas() -> Mapping[str, Any]:
    schemas: Mapping[str, Any] = describe_api().get("components", {}).get("schemas", {})
    return schemas


def _reached(about: object) -> set[str]:
    found: set[str] = set()
    waiting = [about]
    while waiting:
        for name in _names(waiting.pop()):
            if name not in found:
                found.add(name)
                waiting.append(_schemas().get(name))
    return found


def _names(about: object) -> Iterator[str]:
    if isinstance(about, Mapping):
        for key, value in about.items():
            if key == "$ref":
                yield str(value).rsplit("/", 1)[-1]
            else:
                yield from _names(value)
    elif isinstance(about, list):
        for value in about:
            yield from _names(value)


def _resource_page(resource: str) -> str:
    sections = [section(endpoint.title, _text(endpoint), _sent(endpoint)) for endpoint in of_resource(resource)]
    sections += [
        section(name, sentence(schema.get("description")), _fields(schema, resource))
        for name, schema in sorted(_schemas().items())
        if "properties" in schema
        and not name.startswith(("HTTP", "Validation"))
        and places().get(name, _COMMON) == resource
    ]
    return page(resource, "[All endpoints](../api.md)", sections)


def _text(endpoint: Endpoint) -> str:
    return sentence(endpoint.about.get("description") or endpoint.about.get("summary"))


def _sent(endpoint: Endpoint) -> str:
    """Return the objects that an endpoint takes and returns."""
    body, answers = endpoint.about.get("requestBody"), endpoint.about.get("responses", {})
    good = {status: answer for status, answer in answers.items() if status.startswith("2")}
    lines = [("Request", sorted(set(_names(body)))), ("Response", sorted(set(_names(good))))]
    return " ".join(
        f"{title}: {', '.join(_linked(name, endpoint.resource) for name in names)}." for title, names in lines if names
    )


def _row(endpoint: Endpoint) -> list[str]:
    return [code(endpoint.title), _text(endpoint)]


def _fields(schema: dict[str, Any], resource: str) -> str:
    required = set(schema.get("required", ()))
    return table(
        ["field", "type", "", "meaning"],
        [
            [
                code(name),
                _type_api(about, resource),
                "required" if name in required else "",
                sentence(about.get("description")),
            ]
            for name, about in schema["properties"].items()
        ],
    )


def _type_api(about: dict[str, Any], resource: str) -> str:
    if "$ref" in about:
        return _linked(str(about["$ref"]).rsplit("/", 1)[-1], resource)
    if "anyOf" in about:
        return " or ".join(_type_api(option, resource) for option in about["anyOf"])
    if "enum" in about:
        return ", ".join(code(str(value)) for value in about["enum"])
    if about.get("type") == "array":
        return f"list of {_type_api(about.get('items', {}), resource)}"
    return str(about.get("type", "anything"))


def _linked(name: str, resource: str) -> str:
    schema, place = _schemas().get(name, {}), places().get(name, _COMMON)
    if "properties" not in schema:
        return ", ".join(code(str(value)) for value in schema.get("enum", ())) or name
    file = "" if place == resource else f"{_path(place).rpartition('/')[2]}.md"
    return f"[{name}]({file}#{name.lower()})"


def _link(resource: str) -> str:
    return f"[{resource}: requests, responses and fields]({_path(resource)}.md)"


def _path(resource: str) -> str:
    return f"api/{resource.lower().replace(',', '').replace(' ', '-')}"
