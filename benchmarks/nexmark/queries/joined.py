"""Joins without windows: each row is kept, and meets all that come later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from benchmarks.nexmark.queries.base import LeftOut, Query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_STATES = "('or', 'id', 'ca', 'OR', 'ID', 'CA')"
_WINNERS = (
    "SELECT id, seller, bidder, price FROM (SELECT a.id AS id, a.seller AS seller, a.expires AS expires, b.bidder AS "
    "bidder, b.price AS price, row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.{at}, b.bidder) AS place "
    "FROM auction a JOIN bid b ON a.id = b.auction AND b.{at} BETWEEN a.{at} AND a.expires) WHERE place <= 1"
)
_PRICES_BY_SELLER = (
    "SELECT seller, avg(price) AS price FROM (SELECT seller, price, row_number() OVER (PARTITION BY seller ORDER BY "
    f"id DESC) AS place FROM ({_WINNERS.format(at='datetime')})) WHERE place <= 10 GROUP BY seller"
)
_PRICES_BY_CATEGORY = (
    "SELECT category, avg({price}) AS price FROM (SELECT a.id AS id, a.category AS category, max(b.price) AS best "
    "FROM auction a JOIN bid b ON a.id = b.auction WHERE b.{at} BETWEEN a.{at} AND a.expires "
    "GROUP BY a.id, a.category) GROUP BY category"
)
_TWO_AGGREGATES = LeftOut("Structured Streaming has no aggregate over a changelog aggregate")
_TOP = LeftOut("Structured Streaming ranks only within time windows, and has no aggregate over a join in update mode")


def _q3(tables: Mapping[str, DataFrame]) -> DataFrame:
    people = tables["person"].where(f"state IN {_STATES}").selectExpr("id AS person", "name", "city", "state")
    auctions = tables["auction"].where("category = 10").select("id", "seller")
    return people.join(auctions, auctions.seller == people.person).select("name", "city", "state", "id")


def _q20(tables: Mapping[str, DataFrame]) -> DataFrame:
    auctions = tables["auction"].where("category = 10").select("id", "item_name")
    bids = tables["bid"].select("auction", "bidder", "price")
    return bids.join(auctions, bids.auction == auctions.id).select("auction", "bidder", "price", "item_name")


def _q23(tables: Mapping[str, DataFrame]) -> DataFrame:
    people = tables["person"].selectExpr("id AS person", "name")
    auctions = tables["auction"].select("id", "item_name", "seller")
    bids = tables["bid"].select("auction", "price")
    sold = auctions.join(people, auctions.seller == people.person)
    return bids.join(sold, bids.auction == sold.id).select("auction", "price", "item_name", "name")


JOINED = (
    Query(
        "q3",
        "who sells in three states",
        "t t t i",
        ("auction", "person"),
        "SELECT p.name AS name, p.city AS city, p.state AS state, a.id AS id FROM auction a JOIN person p "
        f"ON a.seller = p.id WHERE a.category = 10 AND p.state IN {_STATES}",
        _q3,
    ),
    Query(
        "q4",
        "mean of the highest bids by category",
        "i d",
        ("auction", "bid"),
        _PRICES_BY_CATEGORY.format(price="best", at="datetime"),
        _TWO_AGGREGATES,
        {"flink": _PRICES_BY_CATEGORY.format(price="CAST(best AS DOUBLE)", at="`datetime`")},
        key=(0,),
    ),
    Query(
        "q6",
        "mean of the last ten winning bids by seller",
        "i d",
        ("auction", "bid"),
        _PRICES_BY_SELLER,
        _TWO_AGGREGATES,
        {"flink": LeftOut("published as an OVER window over changelog rows, which Flink refuses")},
        key=(0,),
    ),
    Query(
        "q9",
        "winning bids",
        "i i i i",
        ("auction", "bid"),
        _WINNERS.format(at="datetime"),
        _TOP,
        {"flink": _WINNERS.format(at="`datetime`")},
        key=(0,),
    ),
    Query(
        "q20",
        "bids with their auction, of one category",
        "i i i t",
        ("bid", "auction"),
        "SELECT b.auction AS auction, b.bidder AS bidder, b.price AS price, a.item_name AS item FROM bid b "
        "JOIN auction a ON b.auction = a.id WHERE a.category = 10",
        _q20,
    ),
    Query(
        "q23",
        "bids with auction and seller",
        "i i t t",
        ("bid", "auction", "person"),
        "SELECT b.auction AS auction, b.price AS price, a.item_name AS item, p.name AS seller FROM bid b "
        "JOIN auction a ON b.auction = a.id JOIN person p ON a.seller = p.id",
        _q23,
    ),
)
