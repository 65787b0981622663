"""`python -m benchmarks.decode [ROUNDS]`: the CPU seconds in which 500,000 bids as JSON lines become columns.

Blocks of a megabyte, as sources read them, in one process, by turns: the decoder as it is, with Arrow's reader for all
tables, with a decoder of structs for all tables, and DuckDB's `from_json` over the same lines, its strings being the
block itself.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.data import make_bids
from engine import types
from engine.connectors.text_files import read_blocks
from engine.formats.json import decode_narrow
from engine.formats.json.decode import JsonDecoder
from engine.formats.json.options import JsonOptions
from engine.formats.lines import line_ends
from engine.schema import Field, Schema

KINDS: Mapping[str, types.Type] = {
    "auction": types.BIGINT,
    "bidder": types.BIGINT,
    "price": types.BIGINT,
    "channel": types.TEXT,
    "url": types.TEXT,
    "datetime": types.TIMESTAMP,
    "extra": types.TEXT,
}
TABLES: Sequence[Sequence[str]] = (
    tuple(KINDS),
    ("auction", "bidder", "price", "channel", "url", "datetime"),
    ("auction", "bidder", "price", "channel", "datetime"),
    ("auction", "bidder", "datetime"),
    ("auction", "price"),
)
_IN_DUCKDB = {types.BIGINT: "BIGINT", types.TEXT: "VARCHAR", types.TIMESTAMP: "TIMESTAMPTZ"}

Decode = Callable[[bytes], object]


def ours(columns: Sequence[str], most: int = decode_narrow.MOST_COLUMNS) -> Decode:
    """Our decoder; tables of more than `most` columns are left to Arrow's reader."""
    usual = decode_narrow.MOST_COLUMNS
    decode_narrow.MOST_COLUMNS = most
    decoder = JsonDecoder(JsonOptions(format="json"), Schema(tuple(Field(name, KINDS[name]) for name in columns)))
    decode_narrow.MOST_COLUMNS = usual
    return decoder.decode_lines


def duckdbs(columns: Sequence[str]) -> Decode:
    """DuckDB's reading of the lines, on one thread."""
    connection = duckdb.connect(config={"threads": 1})
    members = ", ".join(f'"{name}": "{_IN_DUCKDB[KINDS[name]]}"' for name in columns)

    def decode(block: bytes) -> object:
        offsets = np.concatenate(([0], line_ends(block) + 1)).astype(np.int32)
        lines = pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(block))
        table = pa.table({"line": lines})
        return connection.from_arrow(table).project(f"unnest(from_json(line, '{{{members}}}'))").to_arrow_table()

    return decode


def main() -> None:
    """Print a line per table: medians of the rounds."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    folder = make_bids(Path(__file__).parent.parent / ".cache" / "bench", 1)
    blocks = list(read_blocks(folder / "00.json", "none", 0, None))
    print(f"{'columns':8}{'ours':>8}{'Arrow':>8}{'structs':>8}{'DuckDB':>8}", flush=True)
    for columns in TABLES:
        ways = (ours(columns), ours(columns, 0), ours(columns, len(columns)), duckdbs(columns))
        turns = [[_cpu_seconds(decode, blocks) for decode in ways] for _ in range(rounds)]
        medians = [statistics.median(seconds) for seconds in zip(*turns, strict=True)]
        print(f"{len(columns):<8}" + "".join(f"{seconds:8.2f}" for seconds in medians), flush=True)


def _cpu_seconds(decode: Decode, blocks: Sequence[bytes]) -> float:
    before = time.process_time()
    for block in blocks:
        decode(block)
    return time.process_time() - before


if __name__ == "__main__":
    main()
