"""The queries, once in our SQL and once as somebody would write them by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SOURCE = """
CREATE TABLE bids (
  auction BIGINT, bidder BIGINT, price BIGINT, channel TEXT, url TEXT, datetime TIMESTAMP NOT NULL, extra TEXT,
  WATERMARK FOR datetime AS datetime - INTERVAL '4 seconds'
) WITH (
  connector = 'filesystem', path = '{folder}', 'source.regex_pattern' = '.*json', format = 'json', type = 'source'
);
CREATE TABLE nowhere WITH (connector = 'blackhole');
"""

OURS: Mapping[str, str] = {
    "q0": "INSERT INTO nowhere SELECT * FROM bids;",
    "q1": "INSERT INTO nowhere SELECT auction, bidder, 0.908 * price AS price, datetime, extra FROM bids;",
    "q2": "INSERT INTO nowhere SELECT auction, price FROM bids WHERE auction % 123 = 0;",
    "count": """
        INSERT INTO nowhere
        SELECT bidder, tumble(INTERVAL '10 seconds') AS window, count(*) AS bids FROM bids GROUP BY bidder, window;
    """,
}


def script(query: str, folder: Path) -> str:
    """The whole script of a query."""
    return SOURCE.format(folder=folder) + OURS[query]


SCHEMA = "auction long, bidder long, price long, channel string, url string, datetime timestamp, extra string"


def _q0(bids: DataFrame) -> DataFrame:
    return bids


def _q1(bids: DataFrame) -> DataFrame:
    return bids.selectExpr("auction", "bidder", "0.908D * price AS price", "datetime", "extra")


def _q2(bids: DataFrame) -> DataFrame:
    return bids.where("auction % 123 = 0").select("auction", "price")


def _count(bids: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    windows = F.window("datetime", "10 seconds")
    return bids.withWatermark("datetime", "4 seconds").groupBy("bidder", windows).agg(F.count("*").alias("bids"))


PLAIN: Mapping[str, Callable[[DataFrame], DataFrame]] = {"q0": _q0, "q1": _q1, "q2": _q2, "count": _count}
