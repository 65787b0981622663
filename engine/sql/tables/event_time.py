"""The event time of a source's rows, and the watermark that each of them asks for.

    CREATE TABLE s (id BIGINT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '5 seconds')    at, at - 5 s
    ... (id BIGINT, at TIMESTAMP NOT NULL, WATERMARK FOR at)                                    at, at
    ... WITH (event_time_field = 'at', watermark_field = 'seen')                                at, seen
    ... WITH (event_time_field = 'at')                                                          at, at - 1 s
    neither, and the connector knows a row's time (Kafka)                                       that, that - 1 s
    neither, and it does not                                                                    when it is read, - 1 s

Both are computed while a record is decoded, before Spark sees it, since the source's watermark goes into its offsets
(docs/decisions/watermarks-travel-in-offsets.md). So a virtual column is put in by its expression, and only what Arrow
can compute may stand in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from engine import types
from engine.connectors.kinds import Connector
from engine.connectors.options import TableOptions
from engine.errors import EventTimeError, TextPosition
from engine.plan.expressions.evaluable import can_evaluate
from engine.plan.expressions.expr import Column, Expr, Literal, is_nullable, substitute
from engine.plan.hidden import EVENT_TIME
from engine.sql.scalar.calls import make_call
from engine.sql.scalar.expressions import Expressions
from engine.sql.scope import Scope, Visible
from engine.sql.tables.columns import TableColumns
from engine.sql.text.dialect import WatermarkFor
from engine.sql.text.parse import Script

CONNECTOR_TIME = "__event_time"
"""The column in which a connector puts the time that it knows of a row."""
DEFAULT_DELAY = timedelta(seconds=1)
"""How late rows may be when nothing says it, as in Arroyo."""


@dataclass(frozen=True, slots=True)
class EventTimes:
    """Reads the event time and the watermark of one source. `positions` says where its options stand."""

    table: str
    connector: Connector
    columns: TableColumns
    options: TableOptions
    script: Script
    positions: Mapping[str, TextPosition]

    def read(self, values: dict[str, Expr]) -> tuple[Expr | None, Expr]:
        """The event time, None for the time of reading, and the watermark, over what is decoded and the event time.
        `values` has what each column of the table is made of."""
        declared = self.columns.watermark
        if declared is not None:
            return self._declared(declared, values)
        event_time_field, watermark_field = self.options.event_time_field, self.options.watermark_field
        event_time = self._of_connector()
        if event_time_field is not None:
            event_time = self._field(event_time_field, values, "event_time_field")
        if watermark_field is not None:
            return event_time, self._field(watermark_field, values, "watermark_field")
        base = Column(EVENT_TIME, types.TIMESTAMP, nullable=False) if event_time is None else event_time
        return event_time, make_call("-", [base, Literal(DEFAULT_DELAY, types.Interval())])

    def _of_connector(self) -> Expr | None:
        if self.connector.event_time is None:
            return None
        return Column(CONNECTOR_TIME, types.TIMESTAMP, nullable=False)

    def _declared(self, declared: WatermarkFor, values: dict[str, Expr]) -> tuple[Expr, Expr]:
        name, at = declared.this.name, self.script.position(declared)
        event_time = _find(name, values)
        if event_time is None:
            raise EventTimeError(
                f"WATERMARK FOR names {name!r}, which is no column of the table",
                hint=f"it has {', '.join(values)}",
                at=at,
            )
        event_time = _checked(event_time, f"column {name!r} of WATERMARK FOR", at)
        if declared.args.get("expression") is None:
            return event_time, event_time
        return event_time, self._expression(declared, values)

    def _field(self, name: str, values: dict[str, Expr], option: str) -> Expr:
        value = _find(name, values)
        if value is None:
            raise EventTimeError(
                f"{option} names {name!r}, which is no column of the table",
                hint=f"it has {', '.join(values)}",
                at=self.positions[option],
            )
        return _checked(value, option, self.positions[option])

    def _expression(self, declared: WatermarkFor, values: dict[str, Expr]) -> Expr:
        """The watermark of `WATERMARK FOR column AS expression`."""
        written = declared.args["expression"]
        at = self.script.position(written)
        never_null = {column.field.name for column in self.columns.generated if not column.field.nullable}
        columns = (
            Column(name, value.type, is_nullable(value) and name not in never_null) for name, value in values.items()
        )
        scope = Scope(tuple(Visible(self.table, column) for column in columns))
        watermark = Expressions(self.script, scope).translate(written)
        if not isinstance(watermark.type, types.Timestamp):
            raise EventTimeError(f"the expression of WATERMARK FOR must be TIMESTAMP, not {watermark.type}", at=at)
        if is_nullable(watermark):
            raise EventTimeError(
                "the expression of WATERMARK FOR must be NOT NULL",
                hint="declare the column NOT NULL, or use coalesce",
                at=at,
            )
        return _computable(substitute(watermark, values), at)


def _find(name: str, values: dict[str, Expr]) -> Expr | None:
    return next((value for column, value in values.items() if column.lower() == name.lower()), None)


def _checked(value: Expr, subject: str, at: TextPosition | None) -> Expr:
    if not isinstance(value.type, types.Timestamp):
        raise EventTimeError(f"{subject} must be TIMESTAMP, not {value.type}", at=at)
    return _computable(value, at)


def _computable(expr: Expr, at: TextPosition | None) -> Expr:
    if not can_evaluate(expr):
        raise EventTimeError(
            "the event time uses a function that is not available while records are read",
            hint="use plain columns, arithmetic, casts, coalesce, CASE and the to_timestamp functions",
            at=at,
        )
    return expr
