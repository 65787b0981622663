"""`make demo`: the example DAG on this machine, told as it happens, its answers checked against DuckDB.

Everything is private to one folder: an Airflow, a control plane, their logs, the data. Nothing is left running.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dags_examples.demo_folder import REPOSITORY, Folder


def main(arguments: list[str] | None = None) -> int:
    """Run the demonstration, in the folder that is named or in `.demo`."""
    argv = sys.argv[1:] if arguments is None else arguments
    folder = Folder(Path(argv[0]).resolve() if argv else REPOSITORY / ".demo")
    with _alone_in(folder.root) as is_alone:
        if is_alone:
            return _run(folder)
    sys.stderr.write(f"another demonstration runs in {folder.root}: wait until it has ended\n")
    return 1


@contextmanager
def _alone_in(root: Path) -> Iterator[bool]:
    """Whether nobody else runs a demonstration there, which begins with an empty folder, and none may begin."""
    root.parent.mkdir(parents=True, exist_ok=True)
    with root.with_name(f"{root.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def _run(folder: Folder) -> int:
    for name in [name for name in os.environ if name.startswith("AIRFLOW")]:
        del os.environ[name]
    os.environ.update(folder.environment())
    from dags_examples.demo_story import demonstrate  # Airflow takes its home from the environment, once

    return demonstrate(folder)


if __name__ == "__main__":
    sys.exit(main())
