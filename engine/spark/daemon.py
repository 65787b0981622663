"""What Spark forks its Python workers from: it imports once what each of them would import anew.

A worker looks for garbage after every task, among all that it has made. What was there before the fork is left out of
that.
"""

from __future__ import annotations

import gc
from importlib import import_module

from pyspark.daemon import manager

from engine.spark.forks.server import NEEDED

if __name__ == "__main__":
    for module in NEEDED:
        import_module(module)
    gc.freeze()
    manager()
