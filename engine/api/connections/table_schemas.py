"""Schema of a table, in the form of Arroyo's API and of CREATE TABLE.

{"format": {"json": {"unstructured": false}}, "bad_data": {"drop": {}},
 "fields": [{"name": "id", "type": "int64", "required": true}], "primary_keys": ["id"]}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field, model_validator

from engine import types
from engine.api.http.bodies import Body
from engine.control.stored_objects import Values
from engine.errors import OptionValueError, TableColumnError, UnsupportedRequestError
from engine.formats import FORMATS
from engine.sql.stored.spelling import spell_name

if TYPE_CHECKING:
    from engine.sql.stored.checking import StoredColumn

_TYPES: Mapping[str, types.Type] = {
    "int32": types.INT,
    "int64": types.BIGINT,
    "uint32": types.Integer(32, signed=False),
    "uint64": types.Integer(64, signed=False),
    "f32": types.Float(32),
    "f64": types.DOUBLE,
    "bool": types.BOOLEAN,
    "string": types.TEXT,
    "utf8": types.TEXT,
    "bytes": types.Bytes(),
    "binary": types.Bytes(),
    "timestamp": types.TIMESTAMP,
    "json": types.JSON,
}
_NAMES = {kind: name for name, kind in reversed(list(_TYPES.items()))}
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_DEEPEST = 16


class SourceField(Body):
    """A column. `sql_name` is its SQL type; without it, `type` is Arroyo's."""

    name: str = Field(min_length=1, max_length=256, description="What it is called.")
    type: str | None = Field(default=None, max_length=64, description="int64, string, struct, list and so on.")
    sql_name: str = Field(default="", max_length=4096, description="The type as SQL has it, which wins.")
    required: bool = Field(default=False, description="Whether it is never NULL.")
    metadata_key: str | None = Field(default=None, max_length=256, description="By which its connector fills it.")
    generated: bool = Field(default=False, description="Whether it is computed of the others; `columns` says how.")
    unit: str | None = Field(default=None, description="Of a timestamp; all are in microseconds.")
    fields: tuple[SourceField, ...] = Field(default=(), description="Of a struct: its members.")
    items: SourceField | None = Field(default=None, description="Of a list: its elements.")

    @model_validator(mode="before")
    @classmethod
    def take_both_spellings(cls, body: object) -> object:
        """Take `sqlName` for `sql_name`, as older clients spell it."""
        return in_snake_case(body)


class TableSchema(Body):
    """Schema of a table's records."""

    format: str | dict[str, Any] | None = Field(
        default=None, description='The format of the records, as its name or as `{"json": {...}}` with its options.'
    )
    bad_data: str | dict[str, Any] | None = Field(
        default=None, description='What happens to a record that cannot be decoded: `{"fail": {}}` or `{"drop": {}}`.'
    )
    framing: dict[str, Any] | None = Field(default=None, description="How a message is split into several records.")
    fields: Annotated[tuple[SourceField, ...], Field(max_length=2048)] = Field(default=(), description="The columns.")
    columns: str | None = Field(
        default=None,
        max_length=262_144,
        description="The columns as CREATE TABLE lists them, with event time and watermark; they win over `fields`.",
    )
    definition: dict[str, Any] | None = Field(
        default=None,
        description='The columns as the text of a schema, as `{"avro_schema": "..."}`. It is refused '
        "(`request.unsupported`): `fields` or `columns` list them.",
    )
    inferred: bool | None = Field(default=None, description="Of a sink: whether it has the columns of its rows.")
    primary_keys: tuple[str, ...] = Field(default=(), description="The columns that say which row it is.")

    @model_validator(mode="before")
    @classmethod
    def take_both_spellings(cls, body: object) -> object:
        """Take `badData` for `bad_data`, as older clients spell it."""
        return in_snake_case(body)

    def listed(self) -> str:
        """Return the columns as CREATE TABLE lists them."""
        if self.definition is not None:
            raise UnsupportedRequestError(
                "columns are not made of the text of a schema", hint="list them in `fields` or `columns`"
            )
        if self.columns is not None:
            return self.columns
        strangers = [key for key in self.primary_keys if key not in {field.name for field in self.fields}]
        if strangers:
            raise TableColumnError(f"there is no column {strangers[0]!r} to be a primary key")
        return ",\n".join(_column(field, is_key=field.name in self.primary_keys) for field in self.fields)

    def options(self) -> Values:
        """Return the options of the table that has this schema."""
        options: Values = dict(_format(self.format))
        if self.bad_data is not None:
            options["bad_data"] = self.bad_data if isinstance(self.bad_data, str) else _only_key(self.bad_data)
        if self.framing:
            options |= _framing(self.framing)
        return options


class ShownSchema(BaseModel):
    """Schema of a table's records."""

    format: dict[str, Any] | None = Field(description="The format of the records, with its options.")
    bad_data: dict[str, Any] | None = Field(description="What happens to a record that cannot be decoded.")
    framing: dict[str, Any] | None = Field(description="How a message is split into several records.")
    fields: list[dict[str, Any]] = Field(description="The columns.")
    columns: str = Field(description="The columns as CREATE TABLE lists them.")
    definition: dict[str, Any] | None = Field(default=None, description="Null: `columns` says it.")
    inferred: bool = Field(description="Of a sink: whether it has the columns of its rows.")
    primary_keys: list[str] = Field(description="The columns that say which row it is.")


def show_schema(
    columns: Sequence[StoredColumn], keys: Sequence[str], listed: str, options: Mapping[str, object], *, inferred: bool
) -> ShownSchema:
    """Return the schema of a stored table."""
    name = options.get("format")
    form = next((form for form in FORMATS if form.name == name), None)
    inside = {} if form is None else _without_prefix(options, form.prefix)
    is_debezium = name == "debezium_json"
    shown: dict[str, Any] | None = None if name is None else {"json" if is_debezium else str(name): inside}
    if is_debezium:
        inside["debezium"] = True
    longest = options.get("framing.newline.max_length")
    framing = None if "framing" not in options else {"method": {"newline": {"max_line_length": longest}}}
    bad_data = options.get("bad_data")
    return ShownSchema(
        format=shown,
        bad_data=None if bad_data is None else {str(bad_data): {}},
        framing=framing,
        fields=[show_column(column) for column in columns],
        columns=listed,
        inferred=inferred,
        primary_keys=list(keys),
    )


def show_column(column: StoredColumn) -> dict[str, Any]:
    """Return a column as an object of a schema's fields."""
    return {
        "name": column.field.name,
        **shown_type(column.field.type),
        "required": not column.field.nullable,
        "sql_name": str(column.field.type),
        "metadata_key": column.metadata_key,
        "generated": column.is_generated,
    }


def shown_type(kind: types.Type) -> dict[str, Any]:
    """Return a type by Arroyo's name; a type without one is `sql`, with its name in `sql_name`."""
    match kind:
        case types.Struct(members):
            return {"type": "struct", "fields": [_member(member.name, member.type) for member in members]}
        case types.Array(element):
            return {"type": "list", "items": _member("item", element)}
        case types.Timestamp():
            return {"type": "timestamp", "unit": "microsecond"}
    return {"type": _NAMES.get(kind, "sql")}


def in_snake_case(body: object) -> object:
    """Return the object with its names in snake case; its values are unchanged."""
    if not isinstance(body, dict):
        return body
    return {_CAPITAL.sub("_", str(name)).lower(): value for name, value in body.items()}


def _member(name: str, kind: types.Type) -> dict[str, Any]:
    return {"name": name, **shown_type(kind), "required": False, "sql_name": str(kind)}


def _column(field: SourceField, *, is_key: bool) -> str:
    if field.generated:
        raise TableColumnError(f"column {field.name!r} is computed, but has no expression", hint="list it in `columns`")
    written = [spell_name(field.name), _type(field)]
    written += ["PRIMARY KEY"] if is_key else ["NOT NULL"] if field.required else []
    if field.metadata_key is not None:
        escaped = field.metadata_key.replace("'", "''")
        written.append(f"METADATA FROM '{escaped}'")
    return " ".join(written)


def _type(field: SourceField, depth: int = 0) -> str:
    if field.sql_name:
        return field.sql_name
    if depth > _DEEPEST:
        raise TableColumnError(f"column {field.name!r} is nested too deeply")
    word = (field.type or "").replace("_", "").lower()
    if word == "struct" and field.fields:
        members = ", ".join(f"{spell_name(part.name)} {_type(part, depth + 1)}" for part in field.fields)
        return f"STRUCT<{members}>"
    if word == "list" and field.items is not None:
        return f"{_type(field.items, depth + 1)}[]"
    kind = _TYPES.get(word)
    if kind is None:
        raise TableColumnError(
            f"column {field.name!r} is of type {field.type!r}, which there is not",
            hint=f"there are {', '.join(_TYPES)}, struct and list; or say it as SQL does, in `sql_name`",
        )
    return str(kind)


def _format(given: str | Mapping[str, Any] | None) -> Iterator[tuple[str, Any]]:
    """Yield the format and its options; false, null and empty ones are left out."""
    if given is None:
        return
    if isinstance(given, str):
        yield "format", given
        return
    word = _snake(_only_key(given))
    inside = next(iter(given.values())) or {}
    if not isinstance(inside, dict):
        raise OptionValueError(f"the format {word!r} has no object of options", hint='write {"json": {}}')
    is_debezium = word == "json" and bool(inside.get("debezium"))
    yield "format", "debezium_json" if is_debezium else word
    prefix = next((form.prefix for form in FORMATS if form.name == word), word)
    for name, value in inside.items():
        if value in (None, False, "", {}, []) or name == "debezium":
            continue
        if not isinstance(value, str | bool | int | float):
            raise OptionValueError(f"option {name!r} of the format is no text, number or truth")
        yield f"{prefix}.{_snake(name)}", value


def _framing(given: Mapping[str, Any]) -> Values:
    method = given.get("method", given)
    newline = method.get("newline") if isinstance(method, dict) else None
    if not isinstance(newline, dict):
        raise OptionValueError("the framing is not known", hint='there is {"method": {"newline": {}}}')
    longest = newline.get("max_line_length", newline.get("maxLineLength"))
    return {"framing": "newline"} | ({} if longest is None else {"framing.newline.max_length": longest})


def _only_key(given: Mapping[str, Any]) -> str:
    if len(given) != 1:
        raise OptionValueError("one of several is to be named", hint='write {"json": {}}, or its name alone')
    return str(next(iter(given)))


def _snake(name: str) -> str:
    return _CAPITAL.sub("_", name).lower()


def _without_prefix(options: Mapping[str, object], prefix: str) -> dict[str, Any]:
    start = f"{prefix}."
    return {name.removeprefix(start): value for name, value in options.items() if name.startswith(start)}
