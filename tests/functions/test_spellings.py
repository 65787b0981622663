"""Calls in the words of other engines give what DuckDB gives for the same expression."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import duckdb
import pytest
from pyspark.sql import functions as F  # noqa: N812 - everybody calls it F
from sqlglot import exp

from engine.functions import find_aggregate, find_function
from engine.functions.spellings import SPELLINGS
from engine.plan.expressions.expr import Call, Expr, walk
from engine.spark.printers.expressions import to_sql
from engine.spark.workers.register_functions import register_calls
from engine.sql.scalar.expressions import Expressions
from engine.sql.scope import Scope
from engine.sql.spellings import spell_out
from engine.sql.text.parse import parse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AT = "TIMESTAMP '2024-05-17 13:14:15.678901'"
DAY = "DATE '2024-02-29'"
URL = "'https://a.example/b?x=1'"
SHOP = """'{"a": {"b": [1, 2]}, "s": "x", "n": 5}'"""

SAME = f"""
year({AT})
quarter({AT})
month({DAY})
week({AT})
weekofyear({AT})
day({AT})
dayofmonth({AT})
dayofyear({AT})
hour({AT})
minute({AT})
second({AT})
last_day({DAY})
date_add({AT}, INTERVAL 1 DAY)
date_trunc('month', date_add({AT}, INTERVAL 3 HOUR))
date_diff('day', {AT}, TIMESTAMP '2024-06-01 00:00:00')
date_diff('month', {AT}, TIMESTAMP '2023-06-01 00:00:00')
datediff('hour', {AT}, TIMESTAMP '2024-06-01 00:00:00')
datesub('month', {AT}, TIMESTAMP '2024-08-17 13:14:15')
datesub('day', {AT}, TIMESTAMP '2024-05-19 13:14:15')
time_bucket(INTERVAL '2 days', {AT})
time_bucket(INTERVAL '7 days', {AT})
time_bucket(INTERVAL '1 hour', {AT}, TIMESTAMP '2024-01-01 00:30:00')
make_timestamp(2024, 2, 29, 1, 2, 3.5)
len('abc')
from_hex('ff00')
unhex('ff00')
regexp_matches('abc', 'b')
regexp_extract('a12b', '[0-9]+')
regexp_extract('a12b', 'a([0-9]+)', 1)
regexp_extract_all('a1b22', '[0-9]+')
sha1('abc')
hex('abc')
bin(5)
mod(7, 3)
mod(-7, 3)
isnan(0.5)
json_extract_string({SHOP}, '$.s')
json_array_length('[1, 2, 3]')
json_exists({SHOP}, '$.a.b')
if(1 > 2, 'a', 'b')
if(NULL, 'a', 'b')
try_cast('x' AS INT)
typeof(1.5) IS NOT NULL
greatest(1, NULL, 3)
least(2, NULL, 3)
bit_count(255)
contains('abc', 'b')
starts_with('abc', 'a')
"""
"""Expressions that are written in the same way for DuckDB."""

OTHERWISE = {
    f"dayofweek({AT})": "6",
    f"dayofweek({DAY}) - 1": f"dayofweek({DAY})",
    f"weekday({AT})": f"isodow({AT}) - 1",
    f"dayname({AT})": f"strftime({AT}, '%a')",
    f"monthname({AT})": f"strftime({AT}, '%b')",
    f"date_sub({AT}, INTERVAL 1 MONTH)": f"{AT} - INTERVAL 1 MONTH",
    f"date_add({DAY}, 3)": f"{DAY} + 3",
    f"date_sub({DAY}, 3)": f"{DAY} - 3",
    f"dateadd({DAY}, 3)": f"{DAY} + 3",
    f"date_add(HOUR, 3, {AT})": f"{AT} + INTERVAL 3 HOUR",
    f"dateadd(DAY, 3, {AT})": f"{AT} + INTERVAL 3 DAY",
    f"timestamp_add(MONTH, 3, {AT})": f"{AT} + INTERVAL 3 MONTH",
    f"timestampadd(MINUTE, 3, {AT})": f"{AT} + INTERVAL 3 MINUTE",
    f"timestampdiff(SECOND, {AT}, {DAY})": f"datesub('second', {AT}, {DAY})",
    f"timestamp_diff(DAY, {DAY}, {AT})": f"datesub('day', {DAY}, {AT})",
    f"timestampdiff(SQL_TSI_DAY, {DAY}, {AT})": f"datesub('day', {DAY}, {AT})",
    f"datediff({AT}, {DAY})": f"date_diff('day', {DAY}, {AT})",
    f"date_diff({AT}, {DAY})": f"date_diff('day', {DAY}, {AT})",
    "from_unix_timestamp(1700000000)": "make_timestamp(1700000000000000)",
    "timestamp_seconds(1700000000)": "make_timestamp(1700000000000000)",
    "timestamp_millis(1700000000123)": "make_timestamp(1700000000123000)",
    "timestamp_micros(1700000000123456)": "make_timestamp(1700000000123456)",
    "to_timestamp_ltz(1700000000, 0)": "make_timestamp(1700000000000000)",
    "to_timestamp_ltz(1700000000123, 3)": "make_timestamp(1700000000123000)",
    "to_timestamp_ltz('2024-05-17 01:02:03')": "TIMESTAMP '2024-05-17 01:02:03'",
    "to_timestamp_ntz('2024-05-17 01:02:03')": "TIMESTAMP '2024-05-17 01:02:03'",
    f"unix_timestamp({AT})": f"epoch_ms({AT}) // 1000",
    f"to_unix_timestamp({AT})": f"epoch_ms({AT}) // 1000",
    f"unix_seconds({AT})": f"epoch_ms({AT}) // 1000",
    f"unix_millis({AT})": f"epoch_us({AT}) // 1000",
    f"epoch_ms({AT})": f"epoch_us({AT}) // 1000",
    f"unix_micros({AT})": f"epoch_us({AT})",
    "unix_millis(TIMESTAMP '1969-12-31 23:59:59.9995')": "-1",
    f"unix_date({DAY})": f"date_diff('day', DATE '1970-01-01', {DAY})",
    "date_from_unix_date(19000)": "DATE '1970-01-01' + 19000",
    "make_timestamp_ntz(2024, 2, 29, 1, 2, 3.5)": "make_timestamp(2024, 2, 29, 1, 2, 3.5)",
    "try_to_timestamp('never')": "NULL",
    "try_to_date('2024-02-29')": DAY,
    "current_timezone()": "'UTC'",
    f"convert_timezone('Europe/Berlin', 'Asia/Tokyo', {AT})": (
        f"({AT} AT TIME ZONE 'Europe/Berlin') AT TIME ZONE 'Asia/Tokyo'"
    ),
    f"from_utc_timestamp({AT}, 'America/New_York')": f"({AT} AT TIME ZONE 'UTC') AT TIME ZONE 'America/New_York'",
    f"to_utc_timestamp({AT}, 'America/New_York')": f"({AT} AT TIME ZONE 'America/New_York') AT TIME ZONE 'UTC'",
    f"date_trunc('day', {AT}, 'Asia/Tokyo')": (
        f"(date_trunc('day', ({AT} AT TIME ZONE 'UTC') AT TIME ZONE 'Asia/Tokyo') AT TIME ZONE 'Asia/Tokyo') "
        "AT TIME ZONE 'UTC'"
    ),
    "date_trunc('day', TIMESTAMP '2024-03-31 12:00:00', 'Europe/Berlin')": "TIMESTAMP '2024-03-30 23:00:00'",
    "date_trunc('day', TIMESTAMP '2024-04-01 12:00:00', 'Europe/Berlin')": "TIMESTAMP '2024-03-31 22:00:00'",
    f"date_part('hour', {AT}, 'Asia/Tokyo')": "22",
    f"to_char({AT}, '%H:%M', 'Asia/Tokyo')": "'22:14'",
    f"date_format({AT}, '%H', 'Asia/Kolkata')": "'18'",
    "convert_tz('2024-01-01 00:00:00', 'UTC', 'America/Los_Angeles')": "'2023-12-31 16:00:00'",
    "make_timestamp_ltz(2024, 2, 29, 1, 2, 3.5)": "make_timestamp(2024, 2, 29, 1, 2, 3.5)",
    "make_dt_interval(1, 2, 3, 4.5)": "INTERVAL '1 day 2 hours 3 minutes 4.5 seconds'",
    f"to_varchar({AT}, '%H')": "'13'",
    "is_alpha('abc')": "true",
    "is_alpha('ab1')": "false",
    "is_digit('12')": "true",
    "is_decimal('-1.5')": "true",
    "is_decimal('1.5.2')": "false",
    "to_binary('ff')": "from_hex('ff')",
    "to_binary('ff', 'hex')": "from_hex('ff')",
    "to_binary('YWJj', 'base64')": "from_base64('YWJj')",
    "to_binary('abc', 'utf-8')": "encode('abc')",
    "element(ARRAY[7])": "7",
    f"is_json({SHOP})": "true",
    "is_json('no')": "false",
    "json_unquote('\"abc\"')": "'abc'",
    "ucase('a')": "'A'",
    "lcase('A')": "'a'",
    "char(65)": "'A'",
    "startswith('abc', 'a')": "true",
    "endswith('abc', 'c')": "true",
    "locate('b', 'abc')": "2",
    "charindex('b', 'abc')": "2",
    "space(2)": "'  '",
    "split_index('a,b', ',', 1)": "'b'",
    "split_index('a,b', ',', 5)": "NULL",
    "elt(2, 'a', 'b')": "'b'",
    "elt(2, 'a', 'b', 'c')": "'b'",
    "elt(4, 'a', 'b', 'c', 'd')": "'d'",
    "base64('abc')": "base64(encode('abc'))",
    "to_base64('abc')": "base64(encode('abc'))",
    "from_base64('YWJj')": "'abc'",
    "unbase64('YWJj')": "from_base64('YWJj')",
    "sha('abc')": "sha1('abc')",
    "sha2('abc', 256)": "sha256('abc')",
    "sha2('abc', 0)": "sha256('abc')",
    "length(sha2('abc', 224))": "56",
    "length(sha2('abc', 384))": "96",
    "length(sha2('abc', 512))": "128",
    f"try_parse_url({URL}, 'HOST')": "'a.example'",
    f"host({URL})": "'a.example'",
    "try_url_decode('%zz')": "NULL",
    "pmod(-7, 3)": "2",
    "positive(5)": "5",
    "negative(5)": "-5",
    "e()": "exp(1)",
    "hypot(3.0, 4.0)": "5.0::DOUBLE",
    "sec(1.0)": "1 / cos(1)",
    "csc(1.0)": "1 / sin(1)",
    "nullifzero(0)": "NULL",
    "zeroifnull(CAST(NULL AS BIGINT))": "0",
    "truncate(1.75)": "1.0::DOUBLE",
    "div(7.5, 2.0)": "3",
    "shiftleft(1, 3)": "1 << 3",
    "shiftright(16, 3)": "16 >> 3",
    "bitwise_not(5)": "~5",
    "bit_get(5, 2)": "1",
    "getbit(5, 1)": "0",
    "try_divide(1.0, 0.0)": "NULL",
    "try_divide(6.0, 4.0)": "1.5::DOUBLE",
    "try_mod(5, 0)": "NULL",
    "haversine(52.52, 13.405, 48.8566, 2.3522) BETWEEN 877 AND 878": "true",
    "isnull(NULL)": "true",
    "isnotnull(1)": "true",
    "equal_null(NULL, NULL)": "true",
    "try_element_at(ARRAY[1, 2], 2)": "2",
    "element_at(ARRAY[1, 2], 2)": "2",
    "slice(ARRAY[1, 2, 3, 4], 2, 2)": "ARRAY[2, 3]",
    "get(ARRAY[1, 2], 0)": "1",
    "size(ARRAY[1, 2])": "2",
    "array_size(ARRAY[1, 2])": "2",
    "sequence(1, 3)": "ARRAY[1, 2, 3]::BIGINT[]",
    "sequence(1, 5, 2)": "ARRAY[1, 3, 5]::BIGINT[]",
    "sort_array(ARRAY[2, 1])": "ARRAY[1, 2]",
    "array_exists(ARRAY[2, 1], 2)": "true",
    f"json_extract({SHOP}, '$.a.b')": "'[1,2]'",
    f"json_extract_path_text({SHOP}, 's')": "'x'",
    f"json_value({SHOP}, '$.n')": "'5'",
    f"json_query({SHOP}, '$.a.b')": "'[1,2]'",
    f"get_json_object({SHOP}, '$.s')": "'x'",
    "iif(1 < 2, 'a', 'b')": "'a'",
    "decode(2, 1, 'a', 2, 'b', 'c')": "'b'",
    "decode(NULL, NULL, 'n', 'c')": "'n'",
    "decode(9, 1, 'a')": "NULL",
    "nvl(NULL, 2)": "2",
    "nvl2(NULL, 1, 2)": "2",
}
"""Expressions that DuckDB has under another name, with what it is called there."""

UNSETTLED = {
    *("proctime()", "rowtime()", "unix_timestamp()", "current_row_timestamp()"),
    *("localtimestamp", "localtime", "curdate", "rand_integer(n)", "uniform(a, b)"),
}
"""Calls that give something else each time."""


def _expressions() -> dict[str, str]:
    return {**{line: line for line in SAME.split("\n") if line}, **OTHERWISE}


def _translated(text: str) -> Expr:
    script = parse(f"SELECT {text}")
    node = script.statements[0].node
    assert node is not None
    [item] = spell_out(node).expressions
    return Expressions(script, Scope()).translate(item)


def _calls() -> Iterator[tuple[str, int]]:
    """Yield the names and the numbers of arguments of all calls in the expressions."""
    for text in _expressions():
        node = parse(f"SELECT {text}").statements[0].node
        assert node is not None
        yield from ((call.name.lower(), len(call.expressions)) for call in node.find_all(exp.Anonymous))


def test_every_scalar_spelling_is_compared() -> None:
    compared = set(_calls())
    missing = [
        written
        for name, spellings in SPELLINGS.items()
        for written, meaning in spellings
        if not _is_aggregate(meaning) and written not in UNSETTLED and not meaning.startswith("unnest(")
        if not any(called == name and _count(written) in (None, count) for called, count in compared)
    ]

    assert missing == []


def _is_aggregate(meaning: str) -> bool:
    return find_aggregate(meaning.split("(", maxsplit=1)[0]) is not None


def _count(written: str) -> int | None:
    return None if "(" not in written else written.count(",") + 1 if "()" not in written else 0


@pytest.mark.parametrize("call", sorted(UNSETTLED))
def test_nondeterministic_function_is_read(call: str) -> None:
    written = call.replace("(n)", "(5)").replace("(a, b)", "(1.0, 2.0)") if "(" in call else f"{call}()"

    assert isinstance(_translated(written), Expr)


def test_a_name_for_a_declared_function_is_spelt_right() -> None:
    renamed = [meaning for lines in SPELLINGS.values() for written, meaning in lines if "(" not in written]

    assert [name for name in renamed if not (find_function(name) or find_aggregate(name))] == []


def test_calls_give_what_duckdb_gives(spark: SparkSession) -> None:
    expressions = _expressions()
    values = {text: _translated(text) for text in expressions}
    register_calls(spark, [part for value in values.values() for part in walk(value) if isinstance(part, Call)])
    columns = [F.expr(to_sql(value)).alias(f"c{index}") for index, value in enumerate(values.values())]
    row = spark.range(1).select(columns).collect()[0]

    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        wrong = []
        for text, ours in zip(expressions, row, strict=True):
            [answer] = database.execute(f"SELECT {expressions[text]}").fetchone() or (None,)
            if not _agree(_plain(ours), _plain(answer)):
                wrong.append(f"{text} gave {ours!r}, and DuckDB {answer!r}")
    assert wrong == []


def _plain(value: object) -> object:
    match value:
        case bytearray():
            return bytes(value)
        case Decimal():
            return float(value)
        case datetime(tzinfo=None):
            return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
        case datetime():
            return value.astimezone(UTC)
        case date():
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return value


def _agree(ours: object, theirs: object) -> bool:
    if isinstance(ours, float) and isinstance(theirs, int | float):
        return math.isclose(ours, theirs, rel_tol=1e-12)
    return ours == theirs
