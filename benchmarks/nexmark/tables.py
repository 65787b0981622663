"""The columns of Nexmark's tables, and the names of their types where they are declared."""

from __future__ import annotations

from collections.abc import Mapping

_EVENT_TIME = "datetime"
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "bid": {
        "auction": "i",
        "bidder": "i",
        "price": "i",
        "channel": "t",
        "url": "t",
        _EVENT_TIME: "ts",
        "extra": "t",
    },
    "auction": {
        "id": "i",
        "description": "t",
        "item_name": "t",
        "initial_bid": "i",
        "reserve": "i",
        _EVENT_TIME: "ts",
        "expires": "ts",
        "seller": "i",
        "category": "i",
        "extra": "t",
    },
    "person": {
        "id": "i",
        "name": "t",
        "email_address": "t",
        "credit_card": "t",
        "city": "t",
        "state": "t",
        _EVENT_TIME: "ts",
        "extra": "t",
    },
}
"""Their types: i whole, t text, ts instant."""
PER_FIFTY: Mapping[str, int] = {"person": 1, "auction": 3, "bid": 46}
"""How many rows of each there are in fifty events."""


def declared(table: str, types: Mapping[str, str], quote: str = "") -> str:
    """The columns as a statement declares them, with the types as `types` calls them."""
    return ", ".join(f"{quote}{name}{quote} {types[kind]}" for name, kind in COLUMNS[table].items())
