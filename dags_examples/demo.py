"""`make demo`: the example DAG on this machine, told as it happens, its answers checked against DuckDB.

Everything is private to one folder: an Airflow, a control plane, their logs, the data. Nothing is left running, unless
`--keep` asks for it, until `--end`.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dags_examples.demo_folder import REPOSITORY, Folder


def main(arguments: list[str] | None = None) -> int:
    """Run the demonstration, in the folder that is named or in `.demo`."""
    parser = argparse.ArgumentParser(
        prog="python -m dags_examples.demo", description="The example DAG, told as it happens."
    )
    parser.add_argument("folder", nargs="?", type=Path, default=REPOSITORY / ".demo", help="where all of it is")
    parser.add_argument("--keep", action="store_true", help="leave Airflow and the control plane running")
    parser.add_argument("--end", action="store_true", help="only end what was left running")
    options = parser.parse_args(arguments)
    folder = Folder(options.folder.resolve())
    if not folder.is_for_demonstrations:
        sys.stderr.write(f"{folder.root} holds something else, and would be emptied: name a new folder\n")
        return 1
    with _alone_in(folder.root) as is_alone:
        if is_alone:
            return _run(folder, keeps=options.keep, ends=options.end)
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


def _run(folder: Folder, *, keeps: bool, ends: bool) -> int:
    for name in [name for name in os.environ if name.startswith("AIRFLOW")]:
        del os.environ[name]
    os.environ.update(folder.environment())
    from dags_examples import demo_story  # Airflow takes its home from the environment, once

    if ends:
        demo_story.end(folder)
        return 0
    return demo_story.demonstrate(folder, keeps=keeps)


if __name__ == "__main__":
    sys.exit(main())
