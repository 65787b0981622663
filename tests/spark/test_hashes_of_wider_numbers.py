"""A number that has become wider is known by the hash that it had, and one that did not fit before by another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engine import types
from engine.plan.expressions.expr import Column
from engine.spark.printers.expressions import hash_to_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SMALLINT, INT, CENTS, LONGER = types.Integer(16), types.Integer(32), types.Decimal(6, 2), types.Decimal(12, 2)


def test_a_value_keeps_the_hash_of_the_first_type_that_it_fits_into(spark: SparkSession) -> None:
    rows = spark.sql(
        "SELECT n AS b, CAST(try_cast(n AS SMALLINT) AS SMALLINT) AS s, try_cast(n AS INT) AS i, "
        "CAST(n AS DECIMAL(20, 2)) AS w, try_cast(n AS DECIMAL(6, 2)) AS c "
        "FROM VALUES (0L), (7L), (-3276L), (70000L), (5000000000L), (NULL) AS t(n)"
    )
    hashes = {
        "small": hash_to_sql([Column("s", SMALLINT)]),
        "int": hash_to_sql([Column("i", INT)]),
        "big": hash_to_sql([Column("b", types.BIGINT)]),
        "cents": hash_to_sql([Column("c", CENTS)]),
        "widened": hash_to_sql([Column("b", types.BIGINT)], formers=[(SMALLINT, INT)]),
        "longer": hash_to_sql([Column("w", types.Decimal(20, 2))], formers=[(CENTS, LONGER)]),
    }

    found = rows.selectExpr("b", *(f"{text} AS {name}" for name, text in hashes.items())).collect()

    widened = {row.b: row.widened for row in found}
    assert widened == {
        row.b: row.big if row.b == 5_000_000_000 else row.int if row.b == 70_000 else row.small for row in found
    }
    assert len({*widened.values()}) == len(widened)
    assert [row.longer == row.cents for row in found] == [True, True, True, False, False, True]
