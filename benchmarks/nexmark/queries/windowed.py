"""Queries over windows of event time. The second column of each is when the window of the row closes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from benchmarks.nexmark.queries.base import Query

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

DELAY = 4
"""Seconds that rows may be late."""

_TUMBLE = "time_bucket(INTERVAL '10 seconds', datetime, TIMESTAMP '1970-01-01')"
_HOPS = (
    "SELECT *, time_bucket(INTERVAL '2 seconds', datetime, TIMESTAMP '1970-01-01') - INTERVAL '2 seconds' * step AS w "
    "FROM bid, (SELECT unnest(range(5)) AS step)"
)
_TUMBLED_IN_FLINK = "TABLE(TUMBLE(TABLE {table}, DESCRIPTOR(`datetime`), INTERVAL '10' SECOND))"


def _late(table: DataFrame) -> DataFrame:
    return table.withWatermark("datetime", f"{DELAY} seconds")


def _tumble() -> Column:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - only this side has it

    return F.window("datetime", "10 seconds")


def _q5(tables: Mapping[str, DataFrame]) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - only this side has it

    hops = F.window("datetime", "10 seconds", "2 seconds")
    counted = _late(tables["bid"]).groupBy(hops, "auction").agg(F.count("*").alias("n"))
    best = F.max(F.struct("n", (-F.col("auction")).alias("auction"))).alias("best")
    return counted.groupBy("window").agg(best).selectExpr("window.start", "window.end", "-best.auction", "best.n")


def _q7(tables: Mapping[str, DataFrame]) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - only this side has it

    most = _late(tables["bid"]).groupBy(_tumble()).agg(F.max("price").alias("price"), F.count("*").alias("n"))
    return most.selectExpr("window.start", "window.end", "price", "n")


def _q8(tables: Mapping[str, DataFrame]) -> DataFrame:
    people = _late(tables["person"]).groupBy("id", "name", _tumble()).agg({})
    sellers = _late(tables["auction"]).groupBy("seller", _tumble()).agg({})
    together = people.join(sellers, (people.window == sellers.window) & (people.id == sellers.seller))
    return together.select(people.window.start, people.window.end, people.id, people.name)


def _q11(tables: Mapping[str, DataFrame]) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - only this side has it

    sessions = F.session_window("datetime", "10 seconds").alias("w")
    counted = _late(tables["bid"]).groupBy("bidder", sessions).agg(F.count("*").alias("n"))
    return counted.selectExpr("w.start", "w.end", "bidder", "n")


def _q12(tables: Mapping[str, DataFrame]) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - only this side has it

    counted = _late(tables["bid"]).groupBy("bidder", _tumble()).agg(F.count("*").alias("n"))
    return counted.selectExpr("window.start", "window.end", "bidder", "n")


WINDOWED = (
    Query(
        "q5",
        "the auction with most bids, hop of 2 s over 10 s",
        "ts ts i i",
        ("bid",),
        "SELECT w.start AS first, w.end AS last, auction, n FROM (SELECT w, auction, n, row_number() OVER (PARTITION "
        "BY w ORDER BY n DESC, auction) AS place FROM (SELECT hop(INTERVAL '2 seconds', INTERVAL '10 seconds') AS w, "
        "auction, count(*) AS n FROM bid GROUP BY 1, auction)) WHERE place = 1",
        _q5,
        {
            "flink": "SELECT window_start, window_end, auction, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY "
            "window_start, window_end ORDER BY n DESC, auction) AS place FROM (SELECT window_start, window_end, "
            "auction, COUNT(*) AS n FROM TABLE(HOP(TABLE bid, DESCRIPTOR(`datetime`), INTERVAL '2' SECOND, "
            "INTERVAL '10' SECOND)) GROUP BY window_start, window_end, auction)) WHERE place <= 1",
            "duckdb": f"SELECT w, w + INTERVAL '10 seconds', auction, n FROM (SELECT w, auction, count(*) AS n FROM "
            f"({_HOPS}) GROUP BY 1, 2) QUALIFY row_number() OVER (PARTITION BY w ORDER BY n DESC, auction) = 1",
        },
        is_windowed=True,
    ),
    Query(
        "q7",
        "the highest bid, tumble of 10 s",
        "ts ts i i",
        ("bid",),
        "SELECT w.start AS first, w.end AS last, price, n FROM (SELECT tumble(INTERVAL '10 seconds') AS w, max(price) "
        "AS price, count(*) AS n FROM bid GROUP BY 1)",
        _q7,
        {
            "flink": f"SELECT window_start, window_end, MAX(price), COUNT(*) FROM "
            f"{_TUMBLED_IN_FLINK.format(table='bid')} GROUP BY window_start, window_end",
            "duckdb": f"SELECT {_TUMBLE} AS w, w + INTERVAL '10 seconds', max(price), count(*) FROM bid GROUP BY 1",
        },
        is_windowed=True,
    ),
    Query(
        "q8",
        "new people who sell, tumble of 10 s",
        "ts ts i t",
        ("person", "auction"),
        "WITH p AS (SELECT id, name, tumble(INTERVAL '10 seconds') AS w FROM person GROUP BY 1, 2, 3), "
        "a AS (SELECT seller, tumble(INTERVAL '10 seconds') AS w FROM auction GROUP BY 1, 2) "
        "SELECT p.w.start AS first, p.w.end AS last, p.id AS id, p.name AS name "
        "FROM p JOIN a ON p.w = a.w AND p.id = a.seller",
        _q8,
        {
            "flink": "SELECT p.window_start, p.window_end, p.id, p.name FROM (SELECT id, name, window_start, "
            f"window_end FROM {_TUMBLED_IN_FLINK.format(table='person')} GROUP BY id, name, window_start, window_end) "
            "p JOIN (SELECT seller, window_start, window_end FROM "
            f"{_TUMBLED_IN_FLINK.format(table='auction')} GROUP BY seller, window_start, window_end) a "
            "ON p.id = a.seller AND p.window_start = a.window_start AND p.window_end = a.window_end",
            "duckdb": f"WITH p AS (SELECT DISTINCT id, name, {_TUMBLE} AS w FROM person), a AS (SELECT DISTINCT "
            f"seller, {_TUMBLE} AS w FROM auction) SELECT p.w, p.w + INTERVAL '10 seconds', p.id, p.name "
            "FROM p JOIN a ON p.w = a.w AND p.id = a.seller",
        },
        is_windowed=True,
    ),
    Query(
        "q11",
        "bids of a session of 10 s",
        "ts ts i i",
        ("bid",),
        "SELECT w.start AS first, w.end AS last, bidder, n FROM (SELECT bidder, count(*) AS n, "
        "session(INTERVAL '10 seconds') AS w FROM bid GROUP BY bidder, 3)",
        _q11,
        {
            # rows just the gap apart are one session in Flink; times are of whole milliseconds
            "flink": "SELECT window_start, window_end + INTERVAL '0.001' SECOND, bidder, COUNT(*) FROM TABLE(SESSION("
            "TABLE bid PARTITION BY bidder, DESCRIPTOR(`datetime`), INTERVAL '9.999' SECOND)) "
            "GROUP BY bidder, window_start, window_end",
            "duckdb": "WITH marked AS (SELECT bidder, datetime, CASE WHEN datetime - lag(datetime) OVER (PARTITION BY "
            "bidder ORDER BY datetime) < INTERVAL '10 seconds' THEN 0 ELSE 1 END AS new FROM bid), numbered AS (SELECT "
            "*, sum(new) OVER (PARTITION BY bidder ORDER BY datetime ROWS UNBOUNDED PRECEDING) AS number FROM marked) "
            "SELECT min(datetime), max(datetime) + INTERVAL '10 seconds', bidder, count(*) FROM numbered "
            "GROUP BY bidder, number",
        },
        is_windowed=True,
    ),
    Query(
        "q12",
        "bids of a bidder, tumble of 10 s",
        "ts ts i i",
        ("bid",),
        "SELECT w.start AS first, w.end AS last, bidder, n FROM (SELECT bidder, tumble(INTERVAL '10 seconds') AS w, "
        "count(*) AS n FROM bid GROUP BY bidder, 2)",
        _q12,
        {
            "flink": f"SELECT window_start, window_end, bidder, COUNT(*) FROM {_TUMBLED_IN_FLINK.format(table='bid')} "
            "GROUP BY bidder, window_start, window_end",
            "duckdb": f"SELECT {_TUMBLE} AS w, w + INTERVAL '10 seconds', bidder, count(*) FROM bid GROUP BY 1, bidder",
        },
        is_windowed=True,
    ),
)
