"""Aggregates and rankings without windows: their rows change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from benchmarks.nexmark.queries.base import LeftOut, Query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_DAY = "date_trunc('day', datetime)"
_DAY_IN_FLINK = "FLOOR(`datetime` TO DAY)"
_LEVELS = (
    "count(*) AS n, count(*) FILTER (WHERE price < 10000) AS low, "
    "count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle, "
    "count(*) FILTER (WHERE price >= 1000000) AS high"
)
_Q15 = (
    f"SELECT {{day}} AS `day`, {_LEVELS}, count(DISTINCT bidder) AS bidders, count(DISTINCT auction) AS auctions "
    "FROM bid GROUP BY {day}"
)
_Q16 = (
    f"SELECT channel, {{day}} AS `day`, {_LEVELS}, count(DISTINCT bidder) AS bidders, count(DISTINCT auction) AS "
    "auctions FROM bid GROUP BY channel, {day}"
)
_Q17 = (
    f"SELECT auction, {{day}} AS `day`, {_LEVELS}, min(price) AS least, max(price) AS most, avg({{price}}) AS mean, "
    "sum(price) AS total FROM bid GROUP BY auction, {day}"
)
_Q18 = (
    "SELECT auction, bidder, price, {at} FROM (SELECT *, row_number() OVER (PARTITION BY bidder, auction ORDER BY "
    "{at} DESC, price DESC) AS place FROM bid) WHERE place <= 1"
)
_NO_DISTINCT = LeftOut("Structured Streaming has no distinct aggregates")


def _plain(sql: str) -> str:
    return sql.format(day=_DAY, price="price", at="datetime").replace("`", "")


def _for_flink(sql: str) -> str:
    return sql.format(day=_DAY_IN_FLINK, price="CAST(price AS DOUBLE)", at="`datetime`")


def _q17(tables: Mapping[str, DataFrame]) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - only this side has it

    text = f"{_LEVELS}, min(price) AS least, max(price) AS most, avg(price) AS mean, sum(price) AS total"
    columns = [F.expr(part) for part in text.split(", ")]
    return tables["bid"].groupBy("auction", F.expr(_DAY).alias("day")).agg(columns[0], *columns[1:])


def _q18(tables: Mapping[str, DataFrame]) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - only this side has it

    newest = tables["bid"].groupBy("auction", "bidder").agg(F.max(F.struct("datetime", "price")).alias("newest"))
    return newest.selectExpr("auction", "bidder", "newest.price", "newest.datetime")


GROUPED = (
    Query(
        "q15",
        "bids of a day",
        "ts i i i i i i",
        ("bid",),
        _plain(_Q15),
        _NO_DISTINCT,
        {"flink": _for_flink(_Q15)},
        key=(0,),
    ),
    Query(
        "q16",
        "bids of a channel and day",
        "t ts i i i i i i",
        ("bid",),
        _plain(_Q16),
        _NO_DISTINCT,
        {"flink": _for_flink(_Q16)},
        key=(0, 1),
    ),
    Query(
        "q17",
        "bids of an auction and day",
        "i ts i i i i i i d i",
        ("bid",),
        _plain(_Q17),
        _q17,
        {"flink": _for_flink(_Q17)},
        key=(0, 1),
    ),
    Query(
        "q18",
        "the newest bid of each bidder and auction",
        "i i i ts",
        ("bid",),
        _plain(_Q18),
        _q18,
        {"flink": _for_flink(_Q18)},
        key=(0, 1),
    ),
    Query(
        "q19",
        "the ten highest bids of an auction",
        "i i i",
        ("bid",),
        "SELECT auction, price, place FROM (SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC) AS "
        "place FROM bid) WHERE place <= 10",
        LeftOut("Structured Streaming ranks only within time windows"),
        key=(0, 2),
    ),
)
