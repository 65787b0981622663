"""What all tests share: the tier each test belongs to, and one Spark session for those that need one."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest_plugins = ["tests.costs", "tests.slices", "tests.groups"]

TIERS = {"unit", "spark", "connectors", "provider", "system"}
TIER_OF_FOLDER = {
    "provider": "provider",
    "system": "system",
    "golden": "system",
    "kept": "system",
    "dags": "provider",
    "kafka": "connectors",
    "s3": "connectors",
    "cluster": "system",
}
WITHOUT_UNITS = TIER_OF_FOLDER.keys() - {"kafka"}
"""Folders that `-m unit` does not even read: their files import Airflow, and what stands in for a bucket."""


def pytest_configure() -> None:
    """No control plane keeps a driver in reserve but where a test wants one. Airflow, once it is imported, has all logs
    speak of everything: what the tests' own client sends is not to stand between the lines that a test looks at."""
    os.environ.setdefault("ARROYO__PIPELINE__SPARE_DRIVERS", "0")
    for client in ("httpx", "httpx2"):
        logging.getLogger(client).setLevel(logging.WARNING)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the folders without unit tests where only those are wanted."""
    is_without = collection_path.name in WITHOUT_UNITS and collection_path.parent == Path(__file__).parent
    return True if is_without and config.option.markexpr == "unit" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every test the tier of what it needs, unless it says so itself."""
    root = Path(__file__).parent
    for item in items:
        folder = item.path.relative_to(root).parts[0]
        if not any(mark.name in TIERS for mark in item.iter_markers()):
            needs_jvm = "spark" in getattr(item, "fixturenames", ())
            item.add_marker("spark" if needs_jvm else TIER_OF_FOLDER.get(folder, "unit"))
        if folder in WITHOUT_UNITS and item.get_closest_marker("unit") is not None:
            raise pytest.UsageError(f"{item.nodeid} is a unit test in a folder that `-m unit` does not read")


def pytest_collection_finish() -> None:
    """Exclude what the collection has made from garbage collection: hundreds of thousands of objects live until the
    end, and each full collection would look at all of them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one Spark session of the test process, with the settings of a real driver."""
    from engine.errors import EngineError
    from engine.spark.jvm.s3_jars import fetch_s3_jars
    from engine.spark.jvm.session import close_session, open_session
    from engine.spark.jvm.start import spark_home

    with suppress(EngineError):  # only the tests of state in a bucket need them
        fetch_s3_jars(os.environ, spark_home())
    session = open_session(
        app_name="tests",
        master="local[2]",
        parallelism=1,
        quick=True,
        makes_archive=False,
        log_dir=tmp_path_factory.mktemp("spark"),
        # read once, when the first state store of the JVM opens, so no test can set it for itself
        extra_conf={"spark.sql.streaming.stateStore.maintenanceInterval": "500ms"},
    )
    yield session
    close_session(session)
