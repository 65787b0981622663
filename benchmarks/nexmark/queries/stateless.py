"""Queries of one row at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from benchmarks.nexmark.queries.base import Query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ALL = "auction, bidder, price, channel, url, `datetime`, extra"
_HOURS = (
    "CASE WHEN extract(hour FROM {at}) BETWEEN 8 AND 18 THEN 'dayTime' "
    "WHEN extract(hour FROM {at}) <= 6 OR extract(hour FROM {at}) >= 20 THEN 'nightTime' ELSE 'otherTime' END"
)
_Q14 = (
    "SELECT auction, 0.908 * price AS price, {hours} AS bid_time, char_length(extra) - char_length(replace(extra, "
    "'c', '')) AS letters FROM bid WHERE 0.908 * price > 1000000"
)
_CHANNELS = (
    "SELECT auction, channel, CASE WHEN lower(channel) = 'apple' THEN '0' WHEN lower(channel) = 'google' THEN '1' "
    "WHEN lower(channel) = 'facebook' THEN '2' WHEN lower(channel) = 'baidu' THEN '3' ELSE {other} END AS channel_id "
    "FROM bid"
)
_DIRECTORIES = "SELECT auction, {} AS dir1, {} AS dir2, {} AS dir3 FROM bid"


def _q0(tables: Mapping[str, DataFrame]) -> DataFrame:
    return tables["bid"]


def _q1(tables: Mapping[str, DataFrame]) -> DataFrame:
    return tables["bid"].selectExpr("auction", "bidder", "0.908D * price AS price", "datetime", "extra")


def _q2(tables: Mapping[str, DataFrame]) -> DataFrame:
    return tables["bid"].where("auction % 123 = 0").select("auction", "price")


def _q10(tables: Mapping[str, DataFrame]) -> DataFrame:
    day, minute = "date_format(datetime, 'yyyy-MM-dd') AS day", "date_format(datetime, 'HH:mm') AS minute"
    return tables["bid"].selectExpr("auction", "bidder", "price", "datetime", "extra", day, minute)


def _q13(tables: Mapping[str, DataFrame]) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - only this side has it

    bids = tables["bid"].withColumn("key", F.expr("auction % 1000"))
    return bids.join(F.broadcast(tables["side"]), "key").select("auction", "bidder", "price", "datetime", "name")


def _q14(tables: Mapping[str, DataFrame]) -> DataFrame:
    letters = "char_length(extra) - char_length(replace(extra, 'c', '')) AS letters"
    hours = _HOURS.format(at="datetime")
    rows = tables["bid"].where("0.908D * price > 1000000")
    return rows.selectExpr("auction", "0.908D * price AS price", f"{hours} AS bid_time", letters)


def _q21(tables: Mapping[str, DataFrame]) -> DataFrame:
    otherwise = "regexp_extract(url, 'channel_id=([0-9]*)', 1)"
    case = _CHANNELS.format(other=otherwise).removeprefix("SELECT auction, channel, ").removesuffix(" FROM bid")
    return tables["bid"].selectExpr("auction", "channel", case)


def _q22(tables: Mapping[str, DataFrame]) -> DataFrame:
    parts = [f"split_part(url, '/', {part + 3}) AS dir{part}" for part in (1, 2, 3)]
    return tables["bid"].selectExpr("auction", *parts)


STATELESS = (
    Query(
        "q0",
        "pass through",
        "i i i t t ts t",
        ("bid",),
        "SELECT auction, bidder, price, channel, url, datetime, extra FROM bid",
        _q0,
        {"flink": f"SELECT {_ALL} FROM bid"},
    ),
    Query(
        "q1",
        "currency",
        "i i d ts t",
        ("bid",),
        "SELECT auction, bidder, 0.908 * price AS price, datetime, extra FROM bid",
        _q1,
        {"flink": "SELECT auction, bidder, 0.908 * price AS price, `datetime`, extra FROM bid"},
    ),
    Query(
        "q2",
        "selection",
        "i i",
        ("bid",),
        "SELECT auction, price FROM bid WHERE auction % 123 = 0",
        _q2,
        {"flink": "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0"},
    ),
    Query(
        "q10",
        "with day and minute as text",
        "i i i ts t t t",
        ("bid",),
        "SELECT auction, bidder, price, datetime, extra, strftime(datetime, '%Y-%m-%d') AS day, "
        "strftime(datetime, '%H:%M') AS minute FROM bid",
        _q10,
        {
            "ours": "SELECT auction, bidder, price, datetime, extra, to_char(datetime, '%Y-%m-%d') AS day, "
            "to_char(datetime, '%H:%M') AS minute FROM bid",
            "flink": "SELECT auction, bidder, price, `datetime`, extra, "
            "DATE_FORMAT(`datetime`, 'yyyy-MM-dd') AS `day`, DATE_FORMAT(`datetime`, 'HH:mm') AS `minute` FROM bid",
        },
    ),
    Query(
        "q13",
        "join with a table of 334 rows",
        "i i i ts t",
        ("bid", "side"),
        "SELECT auction, bidder, price, datetime, name FROM bid JOIN side ON bid.auction % 1000 = side.key",
        _q13,
        {
            "flink": "SELECT auction, bidder, price, `datetime`, name FROM bid JOIN side "
            "ON MOD(bid.auction, 1000) = side.`key`"
        },
    ),
    Query(
        "q14",
        "calculation",
        "i d t i",
        ("bid",),
        _Q14.format(hours=_HOURS.format(at="datetime")),
        _q14,
        {"flink": _Q14.format(hours=_HOURS.format(at="`datetime`"))},
    ),
    Query(
        "q21",
        "number of the channel",
        "i t t",
        ("bid",),
        _CHANNELS.format(other="regexp_extract(url, 'channel_id=([0-9]*)', 1)"),
        _q21,
        {
            "ours": _CHANNELS.format(other="split_part(split_part(url, 'channel_id=', 2), '&', 1)"),
            "flink": _CHANNELS.format(other="COALESCE(REGEXP_EXTRACT(url, 'channel_id=([0-9]*)', 1), '')"),
        },
    ),
    Query(
        "q22",
        "directories of the address",
        "i t t t",
        ("bid",),
        _DIRECTORIES.format(*(f"split_part(url, '/', {part})" for part in (4, 5, 6))),
        _q22,
        {"flink": _DIRECTORIES.format(*(f"SPLIT_INDEX(url, '/', {part})" for part in (3, 4, 5)))},
    ),
)
