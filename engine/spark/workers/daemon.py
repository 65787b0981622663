"""Daemon from which Spark forks its Python workers. It does their common imports once.

Workers run the garbage collector after every task; objects from before the fork are excluded from that. Workers also
keep freed memory for the next block: glibc would return blocks of the largest size so far to the kernel, which has to
clear them for each block. That is a tenth of the cost of decoding.
"""

from __future__ import annotations

import ctypes
import gc
from importlib import import_module

from pyspark.daemon import manager

from engine.spark.workers.fork_server import NEEDED

_TRIM, _MAP = -1, -3
"""Options of glibc's mallopt: the sizes from which memory at the end of the heap, and single blocks, are returned."""


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
