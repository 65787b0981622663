"""SET: settings for the following queries, and for the whole script."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sqlglot import exp

from engine.errors import DurationError, SinkPrefixError, TextPosition, UnknownSettingError, UnsupportedStatementError
from engine.sql.catalog import errors_located
from engine.sql.scalar.literals import read_interval
from engine.sql.text.parse import Script
from engine.values.durations import read_duration
from engine.values.sink_prefix import SETTING, SHOWN, SINKS, check_prefix

_TTL = "updating_ttl"
_MAX_TTL = timedelta(days=36_500)
_EXAMPLE = "SET updating_ttl = '1 day'"
SET_USAGE = "SET takes one name and one value"


@dataclass(frozen=True, slots=True)
class SinkPrefix:
    """Prefix of all sinks of the script, and its position."""

    text: str
    at: TextPosition | None


@dataclass(frozen=True, slots=True)
class SinksShown:
    """All sinks of the script are replaced by previews."""


def read_set(node: exp.Set, script: Script) -> timedelta | SinkPrefix | SinksShown:
    """Read a SET: how long rows without a window are stored, the prefix of the sinks, or that the script only shows its
    rows."""
    setting = node.expressions[0].this if len(node.expressions) == 1 else None
    if not isinstance(setting, exp.EQ) or not isinstance(setting.this, exp.Column | exp.Var | exp.Identifier):
        raise UnsupportedStatementError(SET_USAGE, hint=_EXAMPLE)
    target, value = setting.this, setting.expression
    name = ".".join(part.name for part in target.parts) if isinstance(target, exp.Column) else target.name
    if name.lower() not in (_TTL, SETTING, SINKS):
        raise UnknownSettingError(
            f"there is no setting {name!r}; a script can set '{_TTL}', '{SETTING}' and '{SINKS}'",
            hint="other settings are given at the start",
            at=script.position(target),
        )
    with errors_located(script.position(value)):
        match name.lower():
            case "updating_ttl":
                return _read_ttl(value)
            case "sinks":
                return _read_sinks(value)
            case _:
                return _read_prefix(value, script)


def _read_sinks(value: exp.Expr) -> SinksShown:
    if not isinstance(value, exp.Literal) or value.name != SHOWN:
        raise UnknownSettingError(
            f"{SINKS} can be '{SHOWN}' only", hint="leave it out to have the script write to its sinks"
        )
    return SinksShown()


def _read_prefix(value: exp.Expr, script: Script) -> SinkPrefix:
    if not isinstance(value, exp.Literal) or not value.is_string:
        raise SinkPrefixError(
            f"{SETTING} is a text, not {value.sql(dialect='postgres')}", hint=f"SET {SETTING} = 'january'"
        )
    return SinkPrefix(check_prefix(value.name), script.position(value))


def _read_ttl(value: exp.Expr) -> timedelta:
    match value:
        case exp.Tuple():
            raise UnsupportedStatementError(SET_USAGE, hint=_EXAMPLE)
        case exp.Interval():
            length = read_interval(value)
        case exp.Literal(is_string=True):
            length = read_duration(value.name)
        case _:
            text = value.sql(dialect="postgres")
            raise DurationError(f"updating_ttl is a length of time, not {text}", hint=_EXAMPLE)
    if length <= timedelta(0):
        raise DurationError("updating_ttl must be greater than zero", hint=_EXAMPLE)
    if length > _MAX_TTL:
        raise DurationError(f"updating_ttl is {_MAX_TTL.days} days at most", hint="leave out what is never needed")
    return length
