"""Values cross between Spark and Arrow without a cast, so both sides must agree on types to the letter."""

import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from engine import types
from engine.schema import Field, Schema, arrow_schema
from engine.spark.spark_types import from_spark, schema_of, spark_schema, to_spark

SIMPLE = [
    types.Null(),
    types.Boolean(),
    *(types.Integer(bits, signed) for bits in (8, 16, 32, 64) for signed in (True, False)),
    types.Float(32),
    types.Float(64),
    types.Decimal(38, 10),
    types.Decimal(5, 0),
    types.Text(),
    types.Json(),
    types.Bytes(),
    types.Timestamp(),
    types.Date(),
    types.Interval(),
]
NESTED = [
    types.WINDOW,
    types.Array(types.TEXT),
    types.Array(types.WINDOW),
    types.Struct((types.Member("inner", types.Struct((types.Member("list", types.Array(types.BIGINT)),))),)),
]


@pytest.mark.parametrize("kind", [*SIMPLE, *NESTED], ids=str)
def test_arrow_types_are_to_the_letter_what_spark_expects(kind: types.Type) -> None:
    schema = Schema((Field("value", kind),))

    spark_arrow_schema = to_arrow_schema(
        spark_schema(schema), timezone="UTC", error_on_duplicated_field_names_in_struct=True
    )

    assert arrow_schema(schema).equals(spark_arrow_schema, check_metadata=True)


@pytest.mark.parametrize("kind", [*SIMPLE, *NESTED], ids=str)
def test_a_type_that_went_through_spark_is_stored_as_before(kind: types.Type) -> None:
    assert to_spark(from_spark(to_spark(kind))) == to_spark(kind)


def test_every_kind_of_value_is_covered_here() -> None:
    assert {type(kind).__name__ for kind in (*SIMPLE, *NESTED)} == {
        kind.__name__ for kind in types.Type.__subclasses__()
    }


def test_a_schema_keeps_its_names_and_order() -> None:
    schema = Schema((Field("b", types.TEXT), Field("A", types.WINDOW)))

    assert schema_of(spark_schema(schema)) == schema
