"""Functions of types."""

from datetime import date
from decimal import Decimal

from engine import types
from tests.functions.cases.values import at, decimal, seconds, small, typed, unsigned

NOON = at("2024-02-29T12:00:00.123456")

OTHER = (
    ("arrow_typeof", (None,), "Null"),
    ("arrow_typeof", (True,), "Boolean"),
    ("arrow_typeof", (small(1),), "Int32"),
    ("arrow_typeof", (1,), "Int64"),
    ("arrow_typeof", (unsigned(1, 16),), "UInt16"),
    ("arrow_typeof", (1.5,), "Float64"),
    ("arrow_typeof", (typed(1.5, types.Float(32)),), "Float32"),
    ("arrow_typeof", (decimal("1.50", 5, 2),), "Decimal128(5, 2)"),
    ("arrow_typeof", ("a",), "Utf8"),
    ("arrow_typeof", (b"a",), "Binary"),
    ("arrow_typeof", (NOON,), "Timestamp(Nanosecond, None)"),
    ("arrow_typeof", (date(2024, 1, 1),), "Date32"),
    ("arrow_typeof", (seconds(1),), "Interval(MonthDayNano)"),
    ("arrow_typeof", (typed(None, types.Array(types.TEXT)),), "List(Utf8)"),
    (
        "arrow_typeof",
        (typed(None, types.WINDOW),),
        "Struct(start: Timestamp(Nanosecond, None), end: Timestamp(Nanosecond, None))",
    ),
    ("arrow_cast", (1, "Int32"), 1),
    ("arrow_cast", (1, "Float64"), 1.0),
    ("arrow_cast", ("12", "UInt8"), 12),
    ("arrow_cast", (12, "LargeUtf8"), "12"),
    ("arrow_cast", ("1.25", "Decimal128(5, 2)"), Decimal("1.25")),
    ("arrow_cast", ("a", "Binary"), b"a"),
    ("arrow_cast", ("2024-02-29", "Date32"), date(2024, 2, 29)),
    ("arrow_cast", (1, "Timestamp(Second, None)"), at("1970-01-01T00:00:01")),
    ("arrow_cast", (1, "Timestamp(Millisecond, None)"), at("1970-01-01T00:00:00.001000")),
    ("arrow_cast", (1000, "Timestamp(Nanosecond, None)"), at("1970-01-01T00:00:00.000001")),
    ("arrow_cast", (NOON, "Timestamp(Second, None)"), at("2024-02-29T12:00:00")),
    ("arrow_cast", (NOON, 'Timestamp(Microsecond, Some("+00:00"))'), NOON),
    ("arrow_cast", (None, "Int8"), None),
)
