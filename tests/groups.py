"""Which tests share a process when several play them (`--dist=loadgroup`), and in which order the groups come.

Every kind of server is started once: broker, S3, Redis, a Spark cluster, and what has to import all of Airflow. Spark
is started twice, once beside the servers and once by itself, since one process for all that needs Spark would be at
work long after the others are done. Those groups come first, then what is long, so that in the end there is something
short left to share.
"""

from __future__ import annotations

import pytest

from tests.costs import file_of, folder_of
from tests.slices import is_long

SERVERS = {"broker", "server", "store"}
"""Fixtures behind which there is a server."""
BESIDE_SERVERS = {"connectors", "kafka", "s3", "provider", "checkpoints", "streams", "udf", "updating"}
"""Folders whose tests with Spark are played beside the servers."""
ALONE = {
    "chaos/test_chaos.py",
    "delivery/test_simulator.py",
    "kills/test_kills_with_spark.py",
    "system/test_airflow_kills.py",
    "system/test_airflow_over_postgres.py",
    "system/test_control_plane_with_spark.py",
    "system/test_example_dag.py",
    "system/test_full_disks.py",
    "system/test_hurried_users.py",
    "system/test_kill_loop.py",
    "system/test_outages.py",
    "system/test_real_airflow.py",
    "system/test_sickness.py",
    "system/test_spare_drivers.py",
    "system/test_warm_runs.py",
}
"""Files whose tests start all that they need themselves, and take long."""


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.xdist_group(group_of(item)))
    if getattr(config.option, "loadgroup", False):  # only there does it matter who comes first
        items.sort(key=_turn)


class AfterXdist:
    """The part of the grouping that comes after xdist has read the marks."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Name the group in the ID of each test, which is where the scheduler of xdist looks for it.

        xdist 3.8 writes the name into an attribute that pytest 9.2 does not read any more. Without it, each test would
        be a group of its own: every process would start every server, and set up every module."""
        for item in items if getattr(config.option, "loadgroup", False) else ():
            mark = item.get_closest_marker("xdist_group")
            suffix = f"@{mark.args[0]}" if mark is not None else ""
            if not item.nodeid.endswith(suffix):
                path, _, rest = (item.nodeid + suffix).partition("::")
                item._id = type(item._id)(path=path, names=(rest,))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(AfterXdist())


def group_of(item: pytest.Item) -> str:
    """A test's group: the servers, Spark, the cluster, or its file, unless its tests have nothing to share."""
    needs, folder = set(getattr(item, "fixturenames", ())), folder_of(item.nodeid)
    if needs & SERVERS or folder == "provider" or ("spark" in needs and folder in BESIDE_SERVERS):
        return "servers"
    if folder == "cluster":
        return "cluster"
    file = file_of(item.nodeid)
    return "spark" if "spark" in needs else item.nodeid if file in ALONE else file


def _turn(item: pytest.Item) -> int:
    return 0 if group_of(item) in ("servers", "spark", "cluster") else 1 if is_long(item.nodeid) else 2
