"""`make bench`: every benchmark, one after the other, and in the end which of them are within their goals."""

from __future__ import annotations

import subprocess
import sys

ALL = ("nexmark", "parquet", "kafka_source", "kafka_sink", "updating", "scrape")


def main() -> int:
    """Run them; the exit code says whether all are within their goals."""
    missed = []
    for name in ALL:
        print(f"\n{name}", flush=True)
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode:
            missed.append(name)
    print(f"\nnot within the goal: {', '.join(missed) or 'none'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
