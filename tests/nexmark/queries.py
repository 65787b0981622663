"""Nexmark's queries in our dialect.

| query | here |
| --- | --- |
| q0, q1, q3 to q5, q8, q9, q11, q14 to q20, q22, q23 | as published, on event time |
| q2 | every 11th auction: the published 123rd has no bid in so few events |
| q7 | the bids are grouped in the window of the maximum, since rows without a window do not meet windows |
| q10 | a pass-through with the day and minute as text; the file sink that partitions by them is tested elsewhere |
| q6 | the mean of the best 10 by time, since an aggregate before OVER needs a window |
| q9, q18, q19 | as published |
| q13 | with a file of keys as the side input |
| q21 | with split_part instead of a regular expression that takes a group out |
| q12 | not: there are no windows of processing time |
"""

from __future__ import annotations

from dataclasses import dataclass

SIDE = {number: f"name {number}" for number in range(0, 100, 3)}
"""What bids are looked up in."""
VIEWS = """
CREATE VIEW person AS SELECT person.id AS id, person.name AS name, person.city AS city, person.state AS state,
  person.datetime AS datetime FROM nexmark WHERE person IS NOT NULL;
CREATE VIEW auction AS SELECT auction.id AS id, auction.item_name AS item_name, auction.seller AS seller,
  auction.category AS category, auction.reserve AS reserve, auction.datetime AS datetime, auction.expires AS expires
  FROM nexmark WHERE auction IS NOT NULL;
CREATE VIEW bid AS SELECT bid.auction AS auction, bid.bidder AS bidder, bid.price AS price, bid.channel AS channel,
  bid.url AS url, bid.datetime AS datetime, bid.extra AS extra FROM nexmark WHERE bid IS NOT NULL;
"""


@dataclass(frozen=True)
class Query:
    """A query for us, and for the oracle where it has to be written in another way. `kinds` are the types of its
    columns: whole, text, double, instant or window."""

    name: str
    kinds: str
    engine_sql: str
    oracle_sql: str | None = None
    is_updating: bool = False


STATELESS = (
    Query("q0", "i i i ts t", "SELECT auction, bidder, price, datetime, extra FROM bid"),
    Query("q1", "i i d ts", "SELECT auction, bidder, 0.908 * price AS price, datetime FROM bid"),
    Query("q2", "i i", "SELECT auction, price FROM bid WHERE auction % 11 = 0"),
    Query(
        "q10",
        "i t t",
        "SELECT auction, to_char(datetime, '%Y-%m-%d') AS day, to_char(datetime, '%H:%M') AS minute FROM bid",
        "SELECT auction, strftime(datetime, '%Y-%m-%d'), strftime(datetime, '%H:%M') FROM bid",
    ),
    Query(
        "q13",
        "i i ts t",
        "SELECT auction, bidder, datetime, name FROM bid JOIN side ON bid.auction % 100 = side.key",
    ),
    Query(
        "q14",
        "i d t i",
        "SELECT auction, 0.908 * price AS price, CASE WHEN extract(hour FROM datetime) BETWEEN 8 AND 18 THEN 'dayTime' "
        "WHEN extract(hour FROM datetime) <= 6 OR extract(hour FROM datetime) >= 20 THEN 'nightTime' "
        "ELSE 'otherTime' END AS time, char_length(extra) - char_length(replace(extra, 'c', '')) AS letters "
        "FROM bid WHERE 0.908 * price > 1000000",
    ),
    Query(
        "q21",
        "i t t",
        "SELECT auction, channel, CASE WHEN lower(channel) = 'apple' THEN '0' WHEN lower(channel) = 'google' THEN '1' "
        "WHEN lower(channel) = 'facebook' THEN '2' WHEN lower(channel) = 'baidu' THEN '3' "
        "ELSE split_part(split_part(url, 'channel_id=', 2), '&', 1) END AS channel_id FROM bid",
    ),
    Query(
        "q22",
        "i t t t",
        "SELECT auction, split_part(url, '/', 4) AS dir1, split_part(url, '/', 5) AS dir2, "
        "split_part(url, '/', 6) AS dir3 FROM bid",
    ),
)

_HOP = "hop(INTERVAL '2 seconds', INTERVAL '10 seconds')"
_HOPS = (
    "SELECT *, time_bucket(INTERVAL '2 seconds', datetime, TIMESTAMP '1970-01-01') - INTERVAL '2 seconds' * step AS w "
    "FROM bid, (SELECT unnest(range(5)) AS step)"
)
_TUMBLE = "time_bucket(INTERVAL '10 seconds', datetime, TIMESTAMP '1970-01-01')"

WINDOWED = (
    Query(
        "q5",
        "ts i i",
        f"WITH counted AS (SELECT {_HOP} AS w, auction, count(*) AS n FROM bid GROUP BY 1, auction), "
        "most AS (SELECT w, max(n) AS n FROM counted GROUP BY w) "
        "SELECT counted.w.start AS start, auction, counted.n AS n FROM counted JOIN most "
        "ON counted.w = most.w AND counted.n = most.n",
        f"WITH counted AS (SELECT w, auction, count(*) AS n FROM ({_HOPS}) GROUP BY 1, 2) "
        "SELECT * FROM counted QUALIFY n = max(n) OVER (PARTITION BY w)",
    ),
    Query(
        "q7",
        "ts i i i",
        "WITH bids AS (SELECT tumble(INTERVAL '10s') AS w, auction, price, bidder FROM bid GROUP BY 1, 2, 3, 4), "
        "most AS (SELECT w, max(price) AS price FROM bids GROUP BY w) "
        "SELECT bids.w.start AS start, auction, bids.price AS price, bidder FROM bids JOIN most "
        "ON bids.w = most.w AND bids.price = most.price",
        f"SELECT DISTINCT {_TUMBLE} AS w, auction, price, bidder FROM bid "
        "QUALIFY price = max(price) OVER (PARTITION BY w)",
    ),
    Query(
        "q8",
        "i t ts",
        "WITH p AS (SELECT id, name, tumble(INTERVAL '10 seconds') AS w FROM person GROUP BY 1, 2, 3), "
        "a AS (SELECT seller, tumble(INTERVAL '10 seconds') AS w FROM auction GROUP BY 1, 2) "
        "SELECT p.id AS id, p.name AS name, p.w.start AS start FROM p JOIN a ON p.w = a.w AND p.id = a.seller",
        f"WITH p AS (SELECT DISTINCT id, name, {_TUMBLE} AS w FROM person), "
        f"a AS (SELECT DISTINCT seller, {_TUMBLE} AS w FROM auction) "
        "SELECT p.id, p.name, p.w FROM p JOIN a ON p.w = a.w AND p.id = a.seller",
    ),
    Query(
        "q11",
        "i i ts ts",
        "SELECT bidder, n, w.start AS first, w.end AS last FROM (SELECT bidder, count(*) AS n, "
        "session(INTERVAL '10 seconds') AS w FROM bid GROUP BY bidder, 3)",
        "WITH marked AS (SELECT *, CASE WHEN datetime - lag(datetime) OVER (PARTITION BY bidder ORDER BY datetime) "
        "< INTERVAL '10 seconds' THEN 0 ELSE 1 END AS new FROM bid), numbered AS (SELECT *, sum(new) OVER "
        "(PARTITION BY bidder ORDER BY datetime ROWS UNBOUNDED PRECEDING) AS number FROM marked) "
        "SELECT bidder, count(*), min(datetime), max(datetime) + INTERVAL '10 seconds' FROM numbered "
        "GROUP BY bidder, number",
    ),
)

_PRICES = (
    "count(*) AS n, count(*) FILTER (WHERE price < 10000) AS low, "
    "count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle"
)

_WINNERS = (
    "SELECT id, seller, bidder, price, paid FROM (SELECT a.id AS id, a.seller AS seller, b.bidder AS bidder, "
    "b.price AS price, b.datetime AS paid, row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.datetime) "
    "AS place FROM auction a JOIN bid b ON a.id = b.auction AND b.datetime BETWEEN a.datetime AND a.expires) "
    "WHERE place <= 1"
)

UPDATING = (
    Query(
        "q3",
        "t t t i",
        "SELECT p.name AS name, p.city AS city, p.state AS state, a.id AS id FROM auction a JOIN person p "
        "ON a.seller = p.id WHERE a.category = 10 AND p.state IN ('or', 'id', 'ca', 'OR', 'ID', 'CA')",
    ),
    Query(
        "q4",
        "i d",
        "SELECT category, avg(final) AS price FROM (SELECT a.id AS id, a.category AS category, max(b.price) AS final "
        "FROM auction a JOIN bid b ON a.id = b.auction WHERE b.datetime BETWEEN a.datetime AND a.expires "
        "GROUP BY a.id, a.category) GROUP BY category",
        is_updating=True,
    ),
    Query(
        "q15",
        "ts i i i i i",
        f"SELECT date_trunc('day', datetime) AS day, {_PRICES}, count(DISTINCT bidder) AS bidders, "
        "count(DISTINCT auction) FILTER (WHERE price < 10000) AS auctions FROM bid GROUP BY 1",
        is_updating=True,
    ),
    Query(
        "q16",
        "t ts i i i i",
        f"SELECT channel, date_trunc('day', datetime) AS day, {_PRICES}, count(DISTINCT bidder) AS bidders "
        "FROM bid GROUP BY 1, 2",
        is_updating=True,
    ),
    Query(
        "q17",
        "i ts i i i i i d i",
        f"SELECT auction, date_trunc('day', datetime) AS day, {_PRICES}, min(price) AS least, max(price) AS most, "
        "avg(price) AS mean, sum(price) AS total FROM bid GROUP BY 1, 2",
        is_updating=True,
    ),
    Query(
        "q6",
        "i d",
        "SELECT seller, avg(price) AS price FROM (SELECT seller, price, row_number() OVER (PARTITION BY seller "
        f"ORDER BY paid DESC, id) AS place FROM ({_WINNERS})) WHERE place <= 10 GROUP BY seller",
        is_updating=True,
    ),
    Query("q9", "i i i i ts", _WINNERS, is_updating=True),
    Query(
        "q18",
        "i i i ts",
        "SELECT auction, bidder, price, datetime FROM (SELECT *, row_number() OVER (PARTITION BY bidder, auction "
        "ORDER BY datetime DESC) AS place FROM bid) WHERE place <= 1",
        is_updating=True,
    ),
    Query(
        "q19",
        "i i i",
        "SELECT auction, price, place FROM (SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC) "
        "AS place FROM bid) WHERE place <= 10",
        is_updating=True,
    ),
    Query(
        "q20",
        "i i i t",
        "SELECT b.auction AS auction, b.bidder AS bidder, b.price AS price, a.item_name AS item FROM bid b "
        "JOIN auction a ON b.auction = a.id WHERE a.category = 10",
    ),
    Query(
        "q23",
        "i i t t",
        "SELECT b.auction AS auction, b.price AS price, a.item_name AS item, p.name AS seller FROM bid b "
        "JOIN auction a ON b.auction = a.id JOIN person p ON a.seller = p.id",
    ),
)
