"""Masters on which pipelines run, and those that are refused."""

from __future__ import annotations

import pytest

from engine.errors import SettingError
from engine.values.cluster import complaint_about, has_other_disks, is_one_jvm, refuse_master
from engine.values.run_settings import read_run_settings


@pytest.mark.parametrize(
    "master", ["yarn", "k8s://https://cluster:6443", "mesos://host:5050", "sc://host", "yarn-client"]
)
def test_a_master_that_pipelines_do_not_run_on_is_refused(master: str) -> None:
    with pytest.raises(SettingError, match="pipelines do not run on the master"):
        refuse_master(master)
    # a pipeline of an earlier version may have it stored, which must not stop the control plane
    assert complaint_about(master) is None
    assert read_run_settings({"master": master}).master == master


@pytest.mark.parametrize(
    ("master", "shared_disk", "has"),
    [
        (None, False, False),
        ("local", False, False),
        ("local[4, 2]", False, False),
        ("local-cluster[2,1,1024]", False, False),
        ("spark://host:7077", False, True),
        ("spark://host:7077", True, False),
    ],
)
def test_executors_of_a_cluster_see_another_disk_unless_it_is_declared(
    master: str | None, shared_disk: bool, has: bool
) -> None:
    refuse_master(master)

    assert has_other_disks(master, shared_disk=shared_disk) is has


def test_only_a_local_master_is_one_jvm() -> None:
    assert is_one_jvm("local[4]")
    assert not is_one_jvm("local-cluster[1,1,1024]")
    assert not is_one_jvm("spark://host:7077")


def test_the_declaration_is_on_or_off() -> None:
    assert read_run_settings({"shared_disk": "on"}).shared_disk
    assert not read_run_settings({}).shared_disk
    with pytest.raises(SettingError, match="shared_disk must be on or off, and is 'yes'"):
        read_run_settings({"shared_disk": "yes"})
