"""Functions that choose."""

from decimal import Decimal

from tests.functions.cases.values import NAN, at, decimal, small

CONDITIONAL = (
    ("coalesce", (None, 2, 3), 2),
    ("coalesce", (None, None), None),
    ("coalesce", (1,), 1),
    ("coalesce", (small(1), 2.5), 1.0),
    ("coalesce", (None, "a"), "a"),
    ("coalesce", (None, at("2024-01-01T00:00:00")), at("2024-01-01T00:00:00")),
    ("nvl", (None, 2), 2),
    ("nvl", (1, 2), 1),
    ("ifnull", (None, None), None),
    ("nvl2", (1, "a", "b"), "a"),
    ("nvl2", (None, "a", "b"), "b"),
    ("nvl2", (1, None, "b"), None),
    ("nullif", (1, 1), None),
    ("nullif", (1, 2), 1),
    ("nullif", (None, 2), None),
    ("nullif", (1, None), 1),
    ("greatest", (1, 3, 2), 3),
    ("greatest", (1, None), 1),
    ("greatest", (None, None), None),
    ("greatest", ("a", "B"), "a"),
    ("greatest", (NAN, 1.0), NAN),
    ("greatest", (decimal("1.5", 3, 1), 1), Decimal("1.5")),
    ("least", (2, 1, 3), 1),
    ("least", (None, 1), 1),
    ("least", (NAN, 1.0), 1.0),
)
