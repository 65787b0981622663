"""Ids of rows, derived from their keys.

The id identifies a changelog row in every task and after every restart, so it depends on the values alone: an integer
is used as is, anything else as a digest of its text, and several columns are combined in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa


def row_ids(keys: Sequence[pa.Array]) -> pa.Int64Array:
    """The id of each row, from the values of its key columns, none of which is NULL."""
    import numpy as np  # noqa: PLC0415 - `arroyo check` must not pay for Arrow
    import pyarrow as pa  # noqa: PLC0415

    numbers = [_numbers(key) for key in keys]
    with np.errstate(over="ignore"):
        mixed = reduce(lambda left, right: _mixed(left * np.uint64(31) + right), numbers[1:], _mixed(numbers[0]))
    return pa.array(mixed.view(np.int64))


def _numbers(key: pa.Array) -> npt.NDArray[np.uint64]:
    """A number for each value: an integer's own, else a digest of its text."""
    import numpy as np  # noqa: PLC0415 - see `row_ids`
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    if kinds.is_integer(key.type) or kinds.is_timestamp(key.type):
        return np.asarray(key.cast(pa.int64()).to_numpy(zero_copy_only=False)).view(np.uint64)
    codes = key.dictionary_encode()
    digests = [blake2b(str(value).encode(), digest_size=8).digest() for value in codes.dictionary.to_pylist()]
    positions: npt.NDArray[np.int32] = codes.indices.to_numpy(zero_copy_only=False)
    return np.frombuffer(b"".join(digests), np.uint64)[positions]


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Numbers that are near each other, far apart: the finalizer of splitmix64."""
    import numpy as np  # noqa: PLC0415 - see `row_ids`

    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
