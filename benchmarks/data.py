"""The input of the benchmarks: Nexmark bids as JSON lines, made once."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

FILES = 16
ROWS_PER_FILE = 500_000
_START = datetime(2024, 1, 1, tzinfo=UTC)
_CHANNELS = ("Google", "Facebook", "Baidu", "Apple", "channel-7", "channel-42")


def make_bids(folder: Path, files: int = FILES) -> Path:
    """A folder of files with bids, ten thousand to a second of event time."""
    target = folder / f"bids-{files}x{ROWS_PER_FILE}"
    if (target / "_done").exists():
        return target
    target.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        with (target / f"{number:02}.json").open("w") as file:
            file.writelines(json.dumps(bid) + "\n" for bid in bids(number))
    (target / "_done").touch()
    return target


def bids(number: int) -> list[dict[str, object]]:
    """The bids of one file."""
    chance = Random(number)
    first = number * ROWS_PER_FILE
    return [
        {
            "auction": 1000 + chance.randrange(1_000_000) // (1 + 9 * (chance.random() < 0.5)),
            "bidder": 1000 + chance.randrange(20_000),
            "price": chance.randrange(100, 10_000_000),
            "channel": chance.choice(_CHANNELS),
            "url": f"https://www.nexmark.com/item.htm?query=1&channel_id={chance.randrange(1 << 30)}",
            "datetime": (_START + timedelta(microseconds=100 * (first + row))).isoformat(timespec="milliseconds"),
            "extra": "x" * chance.randrange(20, 60),
        }
        for row in range(ROWS_PER_FILE)
    ]
