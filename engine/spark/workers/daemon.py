"""What Spark forks its Python workers from: it imports once what each of them would import anew.

A worker looks for garbage after every task, among all that it has made. What was there before the fork is left out of
that. And it keeps the memory of a block that it has read for the next one: the C library gives back what is as large
as the largest piece so far, and the kernel clears it anew for each block, which is a tenth of what decoding costs.
"""

from __future__ import annotations

import ctypes
import gc
from importlib import import_module

from pyspark.daemon import manager

from engine.spark.workers.fork_server import NEEDED

_TRIM, _MAP = -1, -3
"""What glibc calls the memory at the end of the heap, and pieces, from which size on they go back to the kernel."""


def keep_memory() -> None:
    """Give back only what is much larger than a block. Other C libraries have ways of their own."""
    change = getattr(ctypes.CDLL(None), "mallopt", None)
    if change is not None:
        change(_MAP, 16 * 1024 * 1024)
        change(_TRIM, 64 * 1024 * 1024)


if __name__ == "__main__":
    keep_memory()
    for module in NEEDED:
        import_module(module)
    gc.freeze()
    manager()
