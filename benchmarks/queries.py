"""Bids as JSON lines, in our SQL and for Spark, and queries of them."""

from __future__ import annotations

from collections.abc import Mapping

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

SCHEMA = "auction long, bidder long, price long, channel string, url string, datetime timestamp, extra string"
