r"""Split messages into records, for tables with `framing = 'newline'`.

    payloads   b"a\nb\n", NULL, b"c"
    records    b"a", b"b", b"c"
    origin     0, 0, 2

`origin` is the index of each record's payload, so that a bad record is reported with its message.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_NEWLINE = 10


def split_messages(payloads: pa.BinaryArray, longest: int | None = None) -> tuple[pa.BinaryArray, pa.Int64Array]:
    """Return the lines of each message as records, longer ones cut, and which message each comes from. NULL messages
    have no records, and a newline at the very end begins none."""
    messages = [None if payload is None else payload.removesuffix(b"\n") for payload in payloads.to_pylist()]
    parts = pc.split_pattern(pa.array(messages, pa.binary()), b"\n")
    records = parts.flatten()
    if longest is not None:
        records = pc.binary_slice(records, 0, longest)
    return records, pc.list_parent_indices(parts).cast(pa.int64())


def cut_lines(block: bytes, longest: int) -> bytes:
    """Return the block with longer lines cut."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == _NEWLINE)
    if np.diff(ends, prepend=-1, append=len(block)).max(initial=0) <= longest + 1:
        return block
    return b"".join(line[:longest] + b"\n" for line in block.removesuffix(b"\n").split(b"\n"))
