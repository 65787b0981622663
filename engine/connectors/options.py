"""Parse a WITH clause into the options that a connector declares."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic.fields import FieldInfo

from engine.connectors.base import BadData, BadDataCheck, Direction, Options
from engine.connectors.kinds import Connector
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
from engine.formats import FORMATS, find_format
from engine.formats.base import Format, FormatOptions
from engine.values.near_names import did_you_mean
from engine.values.option_values import (
    ByteCount,
    OffOrInterval,
    OptionValue,
    Unreadable,
    read_value,
)

O = TypeVar("O", bound=BaseModel)  # noqa: E741 - the O of Options
WithOptions: TypeAlias = "Sequence[WithOption]"

_SHOULD = re.compile(r"^(?:Input|String|Value) should ")
"""Prefixes of Pydantic's error messages. Messages of our own validators follow the option's name: 'must be ...'."""


@dataclass(frozen=True, slots=True)
class WithOption:
    """One `name = value` of a WITH clause, as the user wrote it."""

    name: str
    value: OptionValue
    at: TextPosition


class TableOptions(Options):
    """Options of every table, whatever its connector."""

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
    bad_data_check: BadDataCheck = Field(
        "all_columns",
        alias="bad_data.check",
        description="Which columns a record must fit: all that the table declares, or `used_columns`, the ones "
        "that the script reads, which is faster and makes what is bad data depend on the queries.",
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
    quiet_after: timedelta | None = Field(
        None,
        gt=timedelta(),
        description="How long every partition must have been without rows until the watermark follows the clock, less "
        "the delay of `WATERMARK FOR`; rows that come later and are older are late. By default it never does.",
    )
    late_rows: str = Field(
        "drop",
        min_length=1,
        description="What happens to rows that are too late, which are always counted: `drop` leaves them out; with "
        "the name of a sink of the same script each is written there, once. Its columns are any of event_time "
        "TIMESTAMP, watermark TIMESTAMP, which is the one that the row missed, and the columns of the table.",
    )
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
        """Return how long a partition may be silent before it is idle; None for ever."""
        if self.idle_micros is None:
            return self.idle_time
        return None if self.idle_micros < 0 else timedelta(microseconds=self.idle_micros)


@dataclass(frozen=True, slots=True)
class SplitOptions:
    """The options of one table, grouped by who declares them."""

    general: tuple[WithOption, ...]
    format: tuple[WithOption, ...]
    connector: tuple[WithOption, ...]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """All options of one table, parsed and checked."""

    direction: Direction
    general: TableOptions
    format: FormatOptions | None
    connector: Options


def split_options(options: WithOptions) -> SplitOptions:
    """Sort options by their owner: `format` is every table's, `json.*` the format's, the rest the connector's."""
    general = known_names(TableOptions)
    prefixes = tuple(f"{form.prefix}." for form in FORMATS)
    specific = [option for option in options if option.name not in general]
    return SplitOptions(
        general=tuple(option for option in options if option.name in general),
        format=tuple(option for option in specific if option.name.startswith(prefixes)),
        connector=tuple(option for option in specific if not option.name.startswith(prefixes)),
    )


def parse_options(model: type[O], with_options: WithOptions, *, table: str, at: TextPosition | None = None) -> O:
    """Return the options as `model` declares them. Raise `ScriptRefused` with all errors."""
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
    """Return all options of a table of `connector`; raise one `ScriptRefused` with all errors."""
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
    complaints += _unknown(_strangers(split, model, form))
    if complaints or general is None or direction is None or form is None or options is None:
        raise ScriptRefused(complaints)
    return ReadOptions(direction, general, form.value, options)


@dataclass(frozen=True, slots=True)
class _Format:
    """Options of the format, as written and parsed; None for a connector without formats."""

    value: FormatOptions | None
    options: type[FormatOptions] | None


def _strangers(
    split: SplitOptions, model: type[Options], form: _Format | None
) -> list[tuple[WithOption, frozenset[str]]]:
    """Return the undeclared options, each with similar names. Without a format, the options of
    formats are ignored."""
    own_names = known_names(model)
    candidates = known_names(TableOptions) | own_names
    strangers = [(option, candidates) for option in split.connector if option.name not in own_names]
    if form is None:
        return strangers
    if form.options is None:
        return strangers + [(option, candidates) for option in split.format]
    names = known_names(form.options)
    return strangers + [(option, names) for option in split.format if option.name not in names]


def _format(
    connector: Connector, split: SplitOptions, table: str, at: TextPosition | None
) -> tuple[_Format | None, list[EngineError]]:
    option = next((option for option in split.general if option.name == "format"), None)
    if option is None and not connector.formats:
        return _Format(None, None), []
    form = _named_format(connector, option, at)
    if isinstance(form, EngineError):
        return None, [form]
    names = known_names(form.options)
    options = [option for option in split.format if option.name in names]
    value, complaints = _read(form.options, options, table, at)
    return _Format(value, form.options), complaints


def _named_format(connector: Connector, option: WithOption | None, at: TextPosition | None) -> Format | EngineError:
    """Return the format that a table names, or else the default of its connector; or an error."""
    name = str(option.value) if option else connector.default_format
    position = option.at if option else at
    if not connector.formats:
        message = f"connector {connector.name!r} has no format"
        return OptionValueError(message, hint="remove the option 'format'", at=position)
    listing = ", ".join(f"'{format_name}'" for format_name in sorted(connector.formats))
    if name is None:
        return MissingOptionError("option 'format' is required", hint=f"it is one of {listing}", at=position)
    if name not in connector.formats:
        message = f"connector {connector.name!r} does not support the format {name!r}"
        hint = did_you_mean(name, connector.formats) or f"it supports {listing}"
        return OptionValueError(message, hint=hint, at=position)
    return find_format(name)


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
        return None, [MissingOptionError("option 'type' is required", hint=hint, at=at)]
    direction = next((direction for direction in possible if direction == option.value), None)
    if direction is None:
        message = f"connector {connector.name!r} has no type {option.value!r}"
        return None, [OptionValueError(message, hint=f"it can be {listing}", at=option.at)]
    return direction, []


def name_of(name: str, info: FieldInfo) -> str:
    """Return the public name of an option's field."""
    return info.alias or name


def known_names(model: type[BaseModel]) -> frozenset[str]:
    """Return the names of the options that `model` declares."""
    return frozenset(name_of(name, info) for name, info in model.model_fields.items())


def _read(
    model: type[O], with_options: WithOptions, table: str, at: TextPosition | None
) -> tuple[O | None, list[EngineError]]:
    """Return the options and their errors; options that the model does not know are ignored."""
    fields = {name_of(name, info): info for name, info in model.model_fields.items()}
    places = {option.name: option.at for option in with_options}
    values: dict[str, object] = {}
    wrong: set[str] = set()
    complaints: list[EngineError] = []
    for option in (option for option in with_options if option.name in fields):
        info = fields[option.name]
        wrong_reference = complaint_about(info, option.value)
        if wrong_reference is not None:
            complaints.append(OptionValueError(f"option '{option.name}' {wrong_reference}", at=option.at))
        value = read_value(info, option.value)
        if isinstance(value, Unreadable):
            complaints.append(_wrong_type(option, value.expected, hides_value=is_secret(info)))
            wrong.add(option.name)
        else:
            values[option.name] = value
    try:
        read = model.model_validate(values)
    except ValidationError as refused:
        for error in refused.errors():
            name = str(error["loc"][0]) if error["loc"] else ""
            if name not in wrong:
                complaints.append(_complaint(name, error["type"], error["msg"], places, table, at))
        return None, complaints
    return (None if complaints else read), complaints


def _wrong_type(option: WithOption, expected: str, *, hides_value: bool) -> OptionTypeError:
    value = option.value
    shown = str(list(value)) if isinstance(value, tuple) else f"'{value}'"
    message = f"option '{option.name}' must be {expected}, not {'something else' if hides_value else shown}"
    return OptionTypeError(message, at=option.at)


def _complaint(
    name: str, kind: str, message: str, places: Mapping[str, TextPosition], table: str, at: TextPosition | None
) -> OptionError:
    if kind == "missing":
        hint = f"add {_spelled(name)} = ... to the WITH clause of {table}"
        return MissingOptionError(f"option '{name}' is required", hint=hint, at=at)
    text = _SHOULD.sub("must ", message.removeprefix("Value error, "))
    return OptionValueError(f"option '{name}' {text}" if name else text, at=places.get(name, at))


def _unknown(strangers: Sequence[tuple[WithOption, frozenset[str]]]) -> list[EngineError]:
    if not strangers:
        return []
    strangers = sorted(strangers, key=lambda stranger: stranger[0].at)
    listing = ", ".join(f"'{option.name}'" for option, _ in strangers)
    close = [get_close_matches(option.name, sorted(names), n=1) for option, names in strangers]
    suggestions = ", ".join(f"'{match[0]}'" for match in close if match)
    declared = ", ".join(f"'{name}'" for name in sorted(strangers[0][1]) if name != "format")
    hint = f"did you mean {suggestions}?" if suggestions else f"there are {declared}"
    subject = "there is no option" if len(strangers) == 1 else "there are no options"
    return [UnknownOptionError(f"{subject} {listing}", hint=hint, at=strangers[0][0].at)]


def _spelled(name: str) -> str:
    return f"'{name}'" if "." in name else name
