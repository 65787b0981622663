"""WITH options of a CREATE TABLE as written.

    WITH (connector = 'kafka', source.offset = 'earliest', size = 10, idle_time = INTERVAL '1 minute', ids = [a, b])

gives names with their dots, and texts, numbers, durations and lists as Python values; the connector validates them.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from engine.connectors.options import WithOption
from engine.errors import OptionTypeError, OptionValueError, TextPosition, UnsupportedClauseError
from engine.sql.catalog import Complaints
from engine.sql.scalar.literals import read_interval
from engine.sql.text.dialect import Arroyo, BareOption
from engine.sql.text.parse import Script
from engine.values.option_values import OptionValue


def given_options(node: exp.Create, script: Script, complaints: Complaints, at: TextPosition) -> list[WithOption]:
    """Return the options in the order of the text. If one is given twice, the last one counts. An invalid one is added
    to the complaints."""
    options: list[WithOption] = []
    properties = node.args.get("properties")
    for item in properties.expressions if properties else []:
        position = script.position(item) or at
        if isinstance(item, exp.TemporaryProperty):
            continue
        with complaints.collect(position):
            if isinstance(item, exp.PartitionedByProperty):
                raise _partitioned_by(item)
            if not isinstance(item, exp.Property):
                shown = item.this if isinstance(item, BareOption) else item.sql()
                raise OptionTypeError(f"{shown} is not an option", hint="write name = value")
            name = _dotted(item.this) if isinstance(item.this, exp.Expr) else str(item.this)
            options.append(WithOption(name, _option_value(item.args["value"], name), position))
    return list({option.name: option for option in options}.values())


def _partitioned_by(item: exp.PartitionedByProperty) -> UnsupportedClauseError:
    names = ", ".join(part.sql(dialect=Arroyo) for part in item.this.expressions)
    hint = f"write WITH ('partitioning.fields' = [{names}], ...), and 'partitioning.time_pattern' for days and hours"
    return UnsupportedClauseError("PARTITIONED BY is not supported", hint=hint)


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
    """Return the options of a temporary table, which is implicitly a lookup table."""
    kind = option_named("type", options)
    if kind is not None and kind.value != "lookup":
        raise OptionValueError(
            f"a temporary table cannot have type '{kind.value}'",
            hint="leave out TEMPORARY, or set type = 'lookup'",
            at=kind.at,
        )
    return [*options, *([] if kind else [WithOption("type", "lookup", at)])]


def option_named(name: str, options: Sequence[WithOption]) -> WithOption | None:
    """Return the option of that name, if it is given."""
    return next((option for option in options if option.name == name), None)


def is_temporary(node: exp.Create) -> bool:
    """Whether the statement is CREATE TEMPORARY TABLE."""
    properties = node.args.get("properties")
    return properties is not None and any(isinstance(item, exp.TemporaryProperty) for item in properties.expressions)
