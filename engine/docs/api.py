"""The REST API of the control plane, from its own OpenAPI description."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from engine.api.app import include_routers
from engine.api.description import describe
from engine.docs.markdown import code, page, section, sentence, table
from engine.jobs.address import API_PREFIX

_INTRODUCTION = (
    f"Below `{API_PREFIX}`, with `Authorization: Bearer <token>`. Times are microseconds since 1970; lists are "
    '`{"data": [...], "has_more": bool}`, with `hasMore` besides, as Arroyo spells it; '
    "errors are `application/problem+json` with a `code` of [errors](errors.md). "
    f"The whole description is served at `{API_PREFIX}/api-docs/openapi.json`, and `/docs` shows it; both come from "
    "the control plane alone."
)
_VERBS = ("get", "put", "post", "patch", "delete")


def api_page() -> str:
    """Every endpoint, and every object that is sent or answered."""
    described = describe_api()
    endpoints = [
        [
            code(f"{verb.upper()} {path.removeprefix(API_PREFIX)}"),
            sentence(about.get("description") or about.get("summary")),
        ]
        for path, verbs in described["paths"].items()
        for verb, about in verbs.items()
        if verb in _VERBS
    ]
    schemas = described.get("components", {}).get("schemas", {})
    objects = [
        section(name, sentence(schema.get("description")), _fields(schema))
        for name, schema in sorted(schemas.items())
        if "properties" in schema and not name.startswith(("HTTP", "Validation"))
    ]
    return page("REST API", _INTRODUCTION, [section("Endpoints", table(["endpoint", ""], endpoints)), *objects])


def describe_api() -> dict[str, Any]:
    """The API as OpenAPI describes it; no server is needed."""
    app = FastAPI(title="Arroyo control plane")
    include_routers(app)
    return describe(app)


def _fields(schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    return table(
        ["field", "type", "", "meaning"],
        [
            [code(name), _type(about), "required" if name in required else "", sentence(about.get("description"))]
            for name, about in schema["properties"].items()
        ],
    )


def _type(about: dict[str, Any]) -> str:
    if "$ref" in about:
        return str(about["$ref"]).rsplit("/", 1)[-1]
    if "anyOf" in about:
        return " or ".join(_type(option) for option in about["anyOf"])
    if "enum" in about:
        return ", ".join(code(str(value)) for value in about["enum"])
    if about.get("type") == "array":
        return f"list of {_type(about.get('items', {}))}"
    return str(about.get("type", "anything"))
