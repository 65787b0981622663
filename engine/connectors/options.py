"""From the options somebody typed into a WITH clause to the options a connector declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic.fields import FieldInfo

from engine.connectors.base import BadData, Connector, Direction, Options
from engine.connectors.secret_values import complaint_about, is_secret
from engine.errors import (
    EngineError,
    MissingOptionError,
    OptionError,
    OptionTypeError,
    OptionValueError,
    ScriptRefused,
    TextPosition,
    UnknownOptionError,
)
from engine.formats import FORMATS
from engine.formats.base import FormatOptions
from engine.option_values import ByteCount, OffOrInterval, Unreadable, read_value
from engine.option_values import OptionValue as OptionValue  # noqa: PLC0414 - what a `WithOption` holds

O = TypeVar("O", bound=BaseModel)  # noqa: E741 - the O of Options
WithOptions: TypeAlias = "Sequence[WithOption]"


@dataclass(frozen=True, slots=True)
class WithOption:
    """One `name = value` of a WITH clause, as it was typed."""

    name: str
    value: OptionValue
    at: TextPosition


class TableOptions(Options):
    """The options every table has, whatever its connector."""

    connector: str | None = Field(
        None, description="Connector that the table reads from or writes to. Without it the table is held in memory."
    )
    connection_profile: str | None = Field(
        None, description="Name of a CREATE CONNECTION whose options the table takes."
    )
    type: Direction | None = Field(
        None, description="Direction of the table, `source`, `sink` or `lookup`, if the connector has more than one."
    )
    format: str | None = Field(None, description="Format of the records.")
    framing: Literal["newline"] | None = Field(None, description="How a message is split into several records.")
    framing_newline_max_length: int | None = Field(
        None,
        alias="framing.newline.max_length",
        ge=1,
        description="Maximum length of a record in bytes; longer records are cut.",
    )
    bad_data: BadData = Field(
        "fail",
        description="What happens to a record that cannot be decoded, or a row that a sink cannot write: the "
        "run fails, the record is dropped and counted, or it is also kept in `dead_letter.path` "
        "or `dead_letter.table`.",
    )
    dead_letter_path: Path | None = Field(
        None,
        alias="dead_letter.path",
        description="Directory for such records, as JSON lines with their origin and the error.",
    )
    dead_letter_table: str | None = Field(
        None,
        alias="dead_letter.table",
        min_length=1,
        description="Sink of the same script for such records, instead of a directory; each is written once. "
        "Its columns are any of source TEXT (the table), partition TEXT, origin TEXT, error TEXT, "
        "and record TEXT or BYTEA.",
    )
    event_time_field: str | None = Field(None, description="Column that holds the event time.")
    watermark_field: str | None = Field(None, description="Column that holds the watermark.")
    idle_micros: int | None = Field(None, description="Older spelling of `idle_time`, in microseconds; -1 means never.")
    idle_time: OffOrInterval = Field(
        timedelta(minutes=5),
        description="How long a partition without rows holds back the watermark; -1 means for ever.",
    )
    late_rows: str = Field("drop", description="`drop`, or the table that takes the rows that arrive too late.")
    lookup_cache_max_bytes: ByteCount = Field(
        8 * 1024 * 1024,
        alias="lookup.cache.max_bytes",
        ge=0,
        description="How much of a lookup table each worker caches; 0 turns the cache off.",
    )
    lookup_cache_ttl: timedelta | None = Field(
        None,
        alias="lookup.cache.ttl",
        description="How long a cached row, or its absence, stays valid. By default rows stay valid for ever "
        "and absence is not cached.",
    )

    @model_validator(mode="after")
    def _dead_letters_go_somewhere(self) -> TableOptions:
        targets = [self.dead_letter_path, self.dead_letter_table]
        if sum(target is not None for target in targets) != (1 if self.bad_data == "dead_letter" else 0):
            raise ValueError(
                "'dead_letter.path' or 'dead_letter.table' is required with bad_data = 'dead_letter', and only there"
            )
        return self

    @property
    def idle_after(self) -> timedelta | None:
        """How long a partition may be silent before it is idle; None is for ever."""
        if self.idle_micros is None:
            return self.idle_time
        return None if self.idle_micros < 0 else timedelta(microseconds=self.idle_micros)


@dataclass(frozen=True, slots=True)
class SplitOptions:
    """The options of one table, by whom they are for."""

    general: tuple[WithOption, ...]
    format: tuple[WithOption, ...]
    connector: tuple[WithOption, ...]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """All options of one table, read and checked."""

    direction: Direction
    general: TableOptions
    format: FormatOptions | None
    connector: Options


def split_options(options: WithOptions) -> SplitOptions:
    """Sort options by whom they are for: `format` to every table, `json.*` to the format, the rest to the connector."""
    general = {name_of(name, info) for name, info in TableOptions.model_fields.items()}
    prefixes = tuple(f"{form.prefix}." for form in FORMATS)
    return SplitOptions(
        tuple(option for option in options if option.name in general),
        tuple(option for option in options if option.name not in general and option.name.startswith(prefixes)),
        tuple(option for option in options if option.name not in general and not option.name.startswith(prefixes)),
    )


def parse_options(model: type[O], with_options: WithOptions, *, table: str, at: TextPosition | None = None) -> O:
    """The options as `model` declares them. Raises `ScriptRefused` with every complaint there is."""
    options, complaints = _read(model, with_options, table, at)
    unknown = _unknown(
        [(option, known_names(model)) for option in with_options if option.name not in known_names(model)]
    )
    if options is None or complaints or unknown:
        raise ScriptRefused([*unknown, *complaints])
    return options


def read_table_options(
    connector: Connector, with_options: WithOptions, *, table: str, at: TextPosition | None = None, lookup: bool = False
) -> ReadOptions:
    """All options of a table of `connector`, with every complaint about any of them in one `ScriptRefused`."""
    split = split_options(with_options)
    general, complaints = _read(TableOptions, split.general, table, at)
    direction, wrong = _direction(connector, split.general, table, at, lookup=lookup)
    complaints += wrong
    form, wrong = _format(connector, split, table, at)
    complaints += wrong
    # without a direction the options are still read, so that one more complaint need not wait for the next attempt
    assumed: Direction = direction if direction is not None else next(iter(connector.options))
    model = connector.options[assumed]
    options, wrong = _read(model, split.connector, table, at)
    complaints += wrong if direction else []
    candidates = known_names(TableOptions) | known_names(model)
    strangers = [(option, candidates) for option in split.connector if option.name not in known_names(model)]
    if form is None or form.options is None:
        strangers += [(option, candidates) for option in split.format] if form is not None else []
    else:
        names = known_names(form.options)
        strangers += [(option, names) for option in split.format if option.name not in names]
    complaints += _unknown(strangers)
    if complaints or general is None or direction is None or form is None or options is None:
        raise ScriptRefused(complaints)
    return ReadOptions(direction, general, form.value, options)


@dataclass(frozen=True, slots=True)
class _Format:
    value: FormatOptions | None
    options: type[FormatOptions] | None


def _format(
    connector: Connector, split: SplitOptions, table: str, at: TextPosition | None
) -> tuple[_Format | None, list[EngineError]]:
    option = next((option for option in split.general if option.name == "format"), None)
    name = str(option.value) if option else connector.default_format
    position = option.at if option else at
    if not connector.formats:
        if option is None:
            return _Format(None, None), []
        return None, [
            OptionValueError(
                f"connector {connector.name!r} has no format", hint="remove the option 'format'", at=position
            )
        ]
    listing = ", ".join(f"'{format_name}'" for format_name in sorted(connector.formats))
    if name is None:
        return None, [
            MissingOptionError("required option 'format' not set", hint=f"it is one of {listing}", at=position)
        ]
    form = next((form for form in FORMATS if form.name == name and name in connector.formats), None)
    if form is None:
        message = f"connector {connector.name!r} does not support the format {name!r}"
        return None, [OptionValueError(message, hint=f"it supports {listing}", at=position)]
    names = known_names(form.options)
    options = [option for option in split.format if option.name in names]
    value, complaints = _read(form.options, options, table, at)
    return _Format(value, form.options), complaints


def _direction(
    connector: Connector, general: WithOptions, table: str, at: TextPosition | None, *, lookup: bool
) -> tuple[Direction | None, list[EngineError]]:
    option = next((option for option in general if option.name == "type"), None)
    possible = tuple(connector.options)
    listing = " or ".join(f"'{direction}'" for direction in possible)
    if option is None:
        if lookup and "lookup" in possible:
            return "lookup", []
        if len(possible) == 1:
            return possible[0], []
        hint = f"add type = {listing} to the WITH clause of {table}"
        return None, [MissingOptionError("required option 'type' not set", hint=hint, at=at)]
    direction = next((direction for direction in possible if direction == option.value), None)
    if direction is None:
        message = f"connector {connector.name!r} has no type {option.value!r}"
        return None, [OptionValueError(message, hint=f"it can be {listing}", at=option.at)]
    return direction, []


def name_of(name: str, info: FieldInfo) -> str:
    """What users call the option of a field."""
    return info.alias or name


def known_names(model: type[BaseModel]) -> frozenset[str]:
    """The names of the options that `model` declares."""
    return frozenset(name_of(name, info) for name, info in model.model_fields.items())


def _read(
    model: type[O], with_options: WithOptions, table: str, at: TextPosition | None
) -> tuple[O | None, list[EngineError]]:
    """The options, and what is wrong with them; options that the model does not know are passed over."""
    fields = {name_of(name, info): info for name, info in model.model_fields.items()}
    places = {option.name: option.at for option in with_options}
    values: dict[str, object] = {}
    wrong: set[str] = set()
    complaints: list[EngineError] = []
    for option in with_options:
        if option.name not in fields:
            continue
        if option.name in values:
            complaints.append(OptionValueError(f"option '{option.name}' is given twice", at=option.at))
        value = read_value(fields[option.name], option.value)
        wrong_reference = complaint_about(fields[option.name], option.value)
        if wrong_reference is not None:
            complaints.append(OptionValueError(f"option '{option.name}': {wrong_reference}", at=option.at))
        if isinstance(value, Unreadable):
            shown = "something else" if is_secret(fields[option.name]) else _shown(option.value)
            message = f"expected with option '{option.name}' to be {value.expected}, but it was {shown}"
            complaints.append(OptionTypeError(message, at=option.at))
            wrong.add(option.name)
        else:
            values[option.name] = value
    try:
        read = model.model_validate(values)
    except ValidationError as refused:
        complaints += [
            _complaint(str(error["loc"][0]) if error["loc"] else "", error["type"], error["msg"], places, table, at)
            for error in refused.errors()
            if not error["loc"] or error["loc"][0] not in wrong
        ]
        return None, complaints
    return (None if complaints else read), complaints


def _complaint(
    name: str, kind: str, message: str, places: Mapping[str, TextPosition], table: str, at: TextPosition | None
) -> OptionError:
    if kind == "missing":
        hint = f"add {_spelled(name)} = ... to the WITH clause of {table}"
        return MissingOptionError(f"required option '{name}' not set", hint=hint, at=at)
    text = message.removeprefix("Value error, ")
    text = text[:1].lower() + text[1:]
    return OptionValueError(f"option '{name}': {text}" if name else text, at=places.get(name, at))


def _unknown(strangers: Sequence[tuple[WithOption, frozenset[str]]]) -> list[EngineError]:
    if not strangers:
        return []
    strangers = sorted(strangers, key=lambda stranger: stranger[0].at)
    listing = ", ".join(f"'{option.name}'" for option, _ in strangers)
    close = [get_close_matches(option.name, sorted(names), n=1) for option, names in strangers]
    suggestions = ", ".join(f"'{match[0]}'" for match in close if match)
    names_there_are = ", ".join(f"'{name}'" for name in sorted(strangers[0][1]) if name != "format")
    hint = f"did you mean {suggestions}?" if suggestions else f"there are {names_there_are}"
    position = strangers[0][0].at
    return [UnknownOptionError(f"unknown options provided in WITH clause: {listing}", hint=hint, at=position)]


def _spelled(name: str) -> str:
    return f"'{name}'" if "." in name else name


def _shown(value: OptionValue) -> str:
    return str(list(value)) if isinstance(value, tuple) else f"'{value}'"
