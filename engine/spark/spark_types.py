"""Conversion between our types and Spark's."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import types as spark

from engine import types
from engine.schema import Field, Schema

_INTEGERS = {8: spark.ByteType(), 16: spark.ShortType(), 32: spark.IntegerType(), 64: spark.LongType()}
_FROM_SPARK: Mapping[type[spark.DataType], types.Type] = {
    spark.NullType: types.Null(),
    spark.BooleanType: types.BOOLEAN,
    spark.ByteType: types.Integer(8),
    spark.ShortType: types.Integer(16),
    spark.IntegerType: types.INT,
    spark.LongType: types.BIGINT,
    spark.FloatType: types.Float(32),
    spark.DoubleType: types.DOUBLE,
    spark.StringType: types.TEXT,
    spark.BinaryType: types.Bytes(),
    spark.TimestampType: types.TIMESTAMP,
    spark.DateType: types.Date(),
    spark.DayTimeIntervalType: types.Interval(),
}


def to_spark(kind: types.Type) -> spark.DataType:
    """Return the Spark type that holds values of `kind`; unsigned numbers are held in the next wider signed one."""
    match kind:
        case types.Null():
            return spark.NullType()
        case types.Boolean():
            return spark.BooleanType()
        case types.Integer():
            return _INTEGERS[kind.held_bits]
        case types.Float(bits):
            return spark.FloatType() if bits == 32 else spark.DoubleType()
        case types.Decimal(precision, scale):
            return spark.DecimalType(precision, scale)
        case types.Text() | types.Json():
            return spark.StringType()
        case types.Bytes():
            return spark.BinaryType()
        case types.Timestamp():
            return spark.TimestampType()
        case types.Date():
            return spark.DateType()
        case types.Interval():
            return spark.DayTimeIntervalType()
        case types.Struct(members):
            return spark.StructType([spark.StructField(member.name, to_spark(member.type)) for member in members])
        case types.Array(element):
            return spark.ArrayType(to_spark(element))
    raise TypeError(kind)


def from_spark(kind: spark.DataType) -> types.Type:
    """Return the engine's type for values of a Spark type; signs and JSON are lost, so it is no inverse of
    `to_spark`."""
    match kind:
        case spark.DecimalType():
            return types.Decimal(kind.precision, kind.scale)
        case spark.StructType():
            return types.Struct(tuple(types.Member(member.name, from_spark(member.dataType)) for member in kind.fields))
        case spark.ArrayType():
            return types.Array(from_spark(kind.elementType))
    return _FROM_SPARK[type(kind)]


def spark_schema(schema: Schema) -> spark.StructType:
    """Return the Spark schema of rows of `schema`; every column may hold NULL on the way."""
    return spark.StructType([spark.StructField(field.name, to_spark(field.type)) for field in schema])


def schema_of(schema: spark.StructType) -> Schema:
    """Return the engine's schema of a Spark frame."""
    return Schema(tuple(Field(field.name, from_spark(field.dataType), field.nullable) for field in schema.fields))
