r"""Split text and messages into lines, and join messages to lines, with Arrow kernels.

Split messages into records, for tables with `framing = 'newline'`.

    payloads   b"a\nb\n", NULL, b"c"
    records    b"a", b"b", b"c"
    origin     0, 0, 2

`origin` is the index of each record's payload, so that a bad record is reported with its message.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_NEWLINE = 10


def count_lines(block: bytes) -> int:
    """Count the lines; the last one may lack its newline."""
    # takes half the time of bytes.count when lines are short
    newlines = int(np.count_nonzero(np.frombuffer(block, np.uint8) == _NEWLINE))
    return newlines + (1 if block and not block.endswith(b"\n") else 0)


def line_ends(block: bytes) -> npt.NDArray[np.int64]:
    """Return the end of each line: the position of its newline, or the end of the block for a last line without one."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == _NEWLINE)
    return ends if not block or block.endswith(b"\n") else np.append(ends, len(block))


def split_lines(block: bytes) -> pa.BinaryArray:
    """Return the lines without their ends, blank ones included."""
    if not block:
        return pa.array([], pa.binary())
    lines = pc.split_pattern(pa.array([block.removesuffix(b"\n")], pa.binary()), b"\n").values
    if b"\r\n" in block or block.endswith(b"\r"):
        lines = pa.array([line.removesuffix(b"\r") for line in lines.to_pylist()], pa.binary())
    return lines


def split_block(block: bytes, parts: int) -> list[bytes]:
    """Return the block in at most that many parts of whole lines, of about equal length."""
    cuts = [0]
    for number in range(1, parts):
        cut = block.find(b"\n", len(block) * number // parts) + 1
        if cuts[-1] < cut < len(block):
            cuts.append(cut)
    return [block[start:end] for start, end in pairwise([*cuts, len(block)])]


def join_lines(payloads: pa.BinaryArray) -> bytes:
    """Join payloads without NULL into one block. A newline inside a payload becomes a space, which JSON permits."""
    joined = pc.binary_join(pa.ListArray.from_arrays([0, len(payloads)], payloads), b"\n")[0].as_py()
    if joined.count(b"\n") == len(payloads) - 1:
        return bytes(joined) + b"\n"
    return b"".join(payload.replace(b"\n", b" ") + b"\n" for payload in payloads.to_pylist())


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
