"""The WITH options of a CREATE TABLE as they are written.

    WITH (connector = 'kafka', source.offset = 'earliest', size = 10, idle_time = INTERVAL '1 minute', ids = [a, b])

gives names with their dots, and texts, numbers, durations and lists as Python has them; which of them there may be, and
of what type, is for the connector to say.

Secrets that stand in a script as they are. Where scripts are kept and shown to others, they must be referred to.

password = 'hunter2'                 refused on a control plane
password = '{{ secret:KAFKA }}'      filled in where the job is started
endpoint = 'https://a.example/?token=hunter2'      refused as well; a warning where the script is not kept
endpoint = 'https://a.example/in/T0uK4zJ8pQ1vX6wR2s'      the same: a part of the path looks like a key
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

from pydantic.fields import FieldInfo
from sqlglot import exp

from engine.connectors import CONNECTORS
from engine.connectors.options import WithOption, name_of
from engine.connectors.secret_values import (
    has_key_in_path,
    is_secret,
    key_in_url,
    refers_to_secret,
    takes_secret_in_part,
)
from engine.errors import LiteralSecretError, OptionTypeError, OptionValueError, TextPosition
from engine.formats import FORMATS
from engine.sql.catalog import Complaints
from engine.sql.scalar.literals import read_interval
from engine.sql.text.dialect import BareOption
from engine.sql.text.parse import Script
from engine.values.option_values import OptionValue
from engine.values.secret_references import SECRET_PREFIX


def literal_secrets(script: Script) -> list[LiteralSecretError]:
    """A complaint for every secret that a statement of the script holds."""
    return [
        LiteralSecretError(
            f"option '{option.name}' holds a secret, which would be stored and shown with the script",
            hint=f"write '{{{{ secret:NAME }}}}' and set {SECRET_PREFIX}NAME where jobs are started",
            at=option.at,
        )
        for option in _options(script)
        if _has_url_with_key(option) or _is_literal_secret(option)
    ]


def keys_in_urls(script: Script) -> list[LiteralSecretError]:
    """Return a warning for every URL of the script that holds a key. Every reader of the script or of its options sees
    the key."""
    return [
        LiteralSecretError(
            f"option '{option.name}' holds a key in its URL, which plans, pages and files of the script show",
            hint=f"write the key as '{{{{ secret:NAME }}}}' and set {SECRET_PREFIX}NAME; a control plane refuses it "
            "as it is",
            at=option.at,
        )
        for option in _options(script)
        if _has_url_with_key(option)
    ]


def _options(script: Script) -> Iterator[WithOption]:
    for statement in script.statements:
        if isinstance(statement.node, exp.Create):
            yield from given_options(statement.node, script, Complaints(), statement.at)


def _has_url_with_key(option: WithOption) -> bool:
    if not isinstance(option.value, str):
        return False
    is_in_path = option.name in _names(takes_secret_in_part) and has_key_in_path(option.value)
    return is_in_path or key_in_url(option.value) is not None


def _is_literal_secret(option: WithOption) -> bool:
    return option.name in _names(is_secret) and bool(option.value) and not refers_to_secret(option.value)


@cache
def _names(is_meant: Callable[[FieldInfo], bool]) -> frozenset[str]:
    models = [model for connector in CONNECTORS for model in connector.options.values()]
    return frozenset(
        name_of(name, info)
        for model in (*models, *(form.options for form in FORMATS))
        for name, info in model.model_fields.items()
        if is_meant(info)
    )


def given_options(node: exp.Create, script: Script, complaints: Complaints, at: TextPosition) -> list[WithOption]:
    """The options in the order of the text; one that cannot be read goes to the complaints."""
    options: list[WithOption] = []
    properties = node.args.get("properties")
    for item in properties.expressions if properties else []:
        position = script.position(item) or at
        if isinstance(item, exp.TemporaryProperty):
            continue
        with complaints.collect(position):
            if not isinstance(item, exp.Property):
                shown = item.this if isinstance(item, BareOption) else item.sql()
                raise OptionTypeError(f"{shown} is not an option", hint="write name = value")
            name = _dotted(item.this) if isinstance(item.this, exp.Expr) else str(item.this)
            options.append(WithOption(name, _option_value(item.args["value"], name), position))
    return options


def _dotted(node: exp.Expr) -> str:
    return f"{_dotted(node.this)}.{_dotted(node.expression)}" if isinstance(node, exp.Dot) else node.name


def _option_value(node: exp.Expr, name: str) -> OptionValue:
    match node:
        case exp.Literal():
            return str(node.this) if node.is_string else _number(str(node.this))
        case exp.Neg() if isinstance(node.this, exp.Literal):
            value = _option_value(node.this, name)
            if isinstance(value, int | float):
                return -value
        case exp.Boolean():
            return bool(node.this)
        case exp.Interval():
            return read_interval(node)
        case exp.Array() | exp.Tuple():
            return tuple(str(part.name) for part in node.expressions)
        case exp.Var() | exp.Column() | exp.Identifier():
            return str(node.name)
    raise OptionTypeError(
        f"the value of option '{name}' is not valid: {node.sql()}",
        hint="write a quoted text, a number, true or false, an INTERVAL, a name, or [a, b]",
    )


def _number(text: str) -> float | int:
    return float(text) if any(mark in text for mark in ".eE") else int(text)


def as_lookup(options: Sequence[WithOption], at: TextPosition) -> list[WithOption]:
    """The options of a temporary table, which is a lookup table without saying so."""
    kind = option_named("type", options)
    if kind is not None and kind.value != "lookup":
        raise OptionValueError(
            f"a temporary table cannot have type '{kind.value}'",
            hint="leave out TEMPORARY, or set type = 'lookup'",
            at=kind.at,
        )
    return [*options, *([] if kind else [WithOption("type", "lookup", at)])]


def option_named(name: str, options: Sequence[WithOption]) -> WithOption | None:
    """The option of that name, if it is given."""
    return next((option for option in options if option.name == name), None)


def is_temporary(node: exp.Create) -> bool:
    """Whether it says CREATE TEMPORARY TABLE."""
    properties = node.args.get("properties")
    return properties is not None and any(isinstance(item, exp.TemporaryProperty) for item in properties.expressions)
