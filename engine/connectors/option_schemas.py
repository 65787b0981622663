"""JSON Schema of the connectors' options, for forms.

An option with a dot in its name, such as `auth.type`, is a property `type` of the object `auth`, and has the same form
in requests. It stays whole if the part before the dot is an option of its own (`target` and `target.operation`). An
interval is text as in SQL, such as `5 seconds`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeAlias

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from engine.connectors.base import Direction
from engine.connectors.kinds import Connector
from engine.connectors.options import known_names, name_of
from engine.connectors.secret_values import is_secret
from engine.values.durations import spell_duration

JsonSchema: TypeAlias = "dict[str, Any]"
_DEEPEST = 3
"""Largest number of dots in an option's name."""

_KEPT = frozenset({"type", "enum", "const", "items", "default", "description", "minLength", "maxLength"}) | frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
)


def connection_schema(connector: Connector) -> JsonSchema | None:
    """Return the options of the other system that a connection holds; None if there is no other system to log in to."""
    model = connector.connection
    return None if model is None else _merged(connector, [model], known_names(model))


def table_schema(connector: Connector) -> JsonSchema:
    """Return the options of a table in any of its connector's directions, without those of its connection. `type` names
    the direction if there are several; an option of one direction is refused in the others."""
    models = connector.options.values()
    names = frozenset().union(*map(known_names, models))
    schema = _merged(
        connector, models, names if connector.connection is None else names - known_names(connector.connection)
    )
    if len(connector.options) > 1:
        kind = {"type": "string", "enum": list(connector.options), "description": "What the table is for."}
        schema["properties"] = {"type": kind, **schema["properties"]}
        schema["required"] = ["type", *schema.get("required", ())]
    return schema


def direction_schema(connector: Connector, direction: Direction) -> JsonSchema:
    """Return the options of a table in one direction, including the ones that a connection could hold."""
    model = connector.options[direction]
    return _merged(connector, [model], known_names(model))


def _merged(connector: Connector, models: Collection[type[BaseModel]], names: Collection[str]) -> JsonSchema:
    """Return the named options of some models: of each option the keywords on which all models that have it agree."""
    flat: dict[str, JsonSchema] = {}
    for model in models:
        properties = model.model_json_schema(by_alias=True).get("properties", {})
        for name, info in model.model_fields.items():
            option = name_of(name, info)
            schema = _plain(properties[option], info)
            flat[option] = _agreed(flat[option], schema) if option in flat else schema
    required = {name for name in names if all(_requires(model, name) for model in models)}
    sensitive = {
        name_of(name, info) for model in models for name, info in model.model_fields.items() if is_secret(info)
    }
    return _nested(connector.name, {name: flat[name] for name in flat if name in names}, required, sensitive)


def _requires(model: type[BaseModel], option: str) -> bool:
    return any(name_of(name, info) == option and info.is_required() for name, info in model.model_fields.items())


def _agreed(first: JsonSchema, second: JsonSchema) -> JsonSchema:
    keywords = {keyword: value for keyword, value in first.items() if second.get(keyword, first) == value}
    return {"description": first["description"], **keywords} if "description" in first else keywords


def _plain(schema: Mapping[str, Any], info: FieldInfo) -> JsonSchema:
    """Return the schema of an option's values without null, with the default as SQL spells it."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice.get("type") != "null"]
    found = {**schema, **(choices[0] if choices else {})}
    plain = {keyword: value for keyword, value in found.items() if keyword in _KEPT}
    default = None if info.is_required() else info.get_default(call_default_factory=True)
    if isinstance(default, timedelta):
        plain["default"] = spell_duration(default)
    if plain.get("default") in (None, "", []):
        plain.pop("default", None)
    return plain


def _nested(
    title: str, flat: Mapping[str, JsonSchema], required: Collection[str], sensitive: Collection[str]
) -> JsonSchema:
    """Return an object of those options, with one more for each word before a dot."""
    groups: dict[str, dict[str, JsonSchema]] = {}
    properties: dict[str, JsonSchema] = {}
    for name, schema in flat.items():
        group, dot, rest = name.partition(".")
        if dot and group not in flat:
            groups.setdefault(group, {})[rest] = schema
            properties.setdefault(group, {})  # in the place of its first one
        else:
            properties[name] = schema
    for group, members in groups.items():
        properties[group] = _nested(group, members, _below(group, required), _below(group, sensitive))
    whole: JsonSchema = {"type": "object", "title": title, "properties": properties, "additionalProperties": False}
    return {**whole, **_listed("required", properties, required), **_listed("sensitive", properties, sensitive)}


def _below(group: str, names: Collection[str]) -> Sequence[str]:
    return [name.removeprefix(f"{group}.") for name in names if name.startswith(f"{group}.")]


def _listed(keyword: str, properties: Mapping[str, JsonSchema], names: Collection[str]) -> JsonSchema:
    """Return the properties of those names under a keyword; nothing for none. An object with a required property is
    required."""
    wanted = (
        {name if name in properties else name.partition(".")[0] for name in names} if keyword == "required" else names
    )
    listed = [name for name in properties if name in wanted]
    return {keyword: listed} if listed else {}


def secret_options(connector: Connector) -> frozenset[str]:
    """Return the options of a connector whose values are secret."""
    fields = [field for model in connector.options.values() for field in model.model_fields.items()]
    return frozenset(name_of(name, info) for name, info in fields if is_secret(info))


def nested_values(connector: Connector, values: Mapping[str, object]) -> JsonSchema:
    """Return the values of options in the shape of their schema."""
    names = frozenset().union(*map(known_names, connector.options.values()))
    nested: JsonSchema = {}
    for name, value in values.items():
        group, dot, rest = name.partition(".")
        if dot and group not in names:
            nested.setdefault(group, {})[rest] = value
        else:
            nested[name] = value
    return nested


def flat_values(config: Mapping[str, object]) -> dict[str, str | bool | int | float | list[str]]:
    """Return the options of values in the shape of such a schema; nulls are left out. Raise ValueError for a value that
    belongs to no option."""
    flat: dict[str, str | bool | int | float | list[str]] = {}
    unread = [("", config)]
    while unread:
        group, members = unread.pop()
        for name, value in members.items():
            whole = f"{group}.{name}" if group else name
            match value:
                case None:
                    continue
                case str() | bool() | int() | float():
                    twice, flat[whole] = whole in flat, value
                case list() if all(isinstance(item, str) for item in value):
                    twice, flat[whole] = whole in flat, [str(item) for item in value]
                case dict() if whole.count(".") < _DEEPEST:
                    unread.append((whole, value))
                    continue
                case _:
                    raise ValueError(f"option '{whole}' is no text, number, truth or list of texts")
            if twice:
                raise ValueError(f"option '{whole}' is given twice")
    return flat
