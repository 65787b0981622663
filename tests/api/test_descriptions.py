"""What the API says of itself."""

from __future__ import annotations

from engine.docs.web_types import describe_api

_PLAIN = {"id", "data", "backend", "checkpoint_type", "events", "pong", "line", "column", "start", "language"}
"""Fields whose names say it, and those that are always the same."""


def test_every_field_is_described() -> None:
    schemas = describe_api()["components"]["schemas"]

    assert [
        f"{name}.{field}"
        for name, schema in schemas.items()
        if not name.startswith(("HTTP", "Validation"))
        for field, about in schema.get("properties", {}).items()
        if field not in _PLAIN and not about.get("description", "").endswith(".")
    ] == []
