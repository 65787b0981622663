"""`make demo`: the example DAG on this machine, told as it happens, its answers checked against DuckDB.

Everything is private to one folder: an Airflow, a control plane, their logs, the data. Nothing is left running.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from dags_examples.demo_folder import REPOSITORY, Folder


def main(arguments: list[str] | None = None) -> int:
    """Run the demonstration, in the folder that is named or in `.demo`."""
    argv = sys.argv[1:] if arguments is None else arguments
    folder = Folder(Path(argv[0]).resolve() if argv else REPOSITORY / ".demo")
    for name in [name for name in os.environ if name.startswith("AIRFLOW")]:
        del os.environ[name]
    os.environ.update(folder.environment())
    from dags_examples.demo_story import demonstrate  # Airflow takes its home from the environment, once

    return demonstrate(folder)


if __name__ == "__main__":
    sys.exit(main())
