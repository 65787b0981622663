"""Folder of one demonstration, and the environment that keeps Airflow in it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
JOURNAL = "ARROYO_DEMO_JOURNAL"


@dataclass(frozen=True, slots=True)
class Folder:
    """Paths of one demonstration."""

    root: Path

    @property
    def airflow(self) -> Path:
        """Home of the private Airflow."""
        return self.root / "airflow"

    @property
    def control_plane(self) -> Path:
        """Data of the embedded control plane."""
        return self.root / "arroyo"

    @property
    def data(self) -> Path:
        """Return the folder that the pipeline and the batch tasks write."""
        return self.root / "data"

    def of_the_run(self) -> Path:
        """Return the output folder of the newest DAG run; folders are named by when their run began."""
        return max(self.data.iterdir())

    @property
    def log(self) -> Path:
        """Everything that Airflow has to say."""
        return self.root / "airflow.log"

    @property
    def journal(self) -> Path:
        """Return the file of events of tasks."""
        return self.root / "journal.jsonl"

    @property
    def kept(self) -> Path:
        """The number of the Airflow that was left running."""
        return self.root / "kept-airflow.pid"

    @property
    def is_for_demonstrations(self) -> bool:
        """Whether it may be emptied: there is nothing, or what a demonstration has left, which begins with data."""
        try:
            names = {path.name for path in self.root.iterdir()}
        except FileNotFoundError:
            return True
        except NotADirectoryError:
            return False
        return names <= {self.data.name} or self.log.name in names

    def environment(self) -> dict[str, str]:
        """Return the environment that Airflow needs before it is imported."""
        connection = {"conn_type": "arroyo", "extra": {"embedded": True, "data_dir": str(self.control_plane)}}
        return {
            "AIRFLOW_HOME": str(self.airflow),
            "AIRFLOW__CORE__DAGS_FOLDER": str(REPOSITORY / "dags_examples"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW_CONN_ARROYO_DEFAULT": json.dumps(connection),
            # one pipeline is deployed, at once: a driver in reserve would only take from it
            "ARROYO__PIPELINE__SPARE_DRIVERS": "0",
            "ARROYO_EXAMPLE_FOLDER": str(self.data),
            "PYTHONPATH": os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")])),
            JOURNAL: str(self.journal),
        }
