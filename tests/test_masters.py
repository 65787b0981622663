"""Masters on which pipelines run, and those that are refused."""

from __future__ import annotations

import pytest

from engine.errors import SettingError
from engine.jobs.decisions.spec import read_run_settings
from engine.values.masters import complaint_about, is_one_jvm, refuse_master


@pytest.mark.parametrize(
    "master", ["yarn", "k8s://https://cluster:6443", "mesos://host:5050", "sc://host", "yarn-client"]
)
def test_a_master_that_pipelines_do_not_run_on_is_refused_even_with_a_shared_disk(master: str) -> None:
    with pytest.raises(SettingError, match="pipelines do not run on the master"):
        refuse_master(master, shared_disk=True)
    # a pipeline of an earlier version may have it stored, which must not stop the control plane
    assert complaint_about(master) is None
    assert read_run_settings({"master": master}).master == master


def test_a_cluster_is_refused_unless_a_shared_disk_is_declared() -> None:
    with pytest.raises(SettingError, match="executors of spark://host:7077") as refused:
        refuse_master("spark://host:7077", shared_disk=False)

    assert "shared_disk = on" in str(refused.value.hint)
    refuse_master("spark://host:7077", shared_disk=True)


@pytest.mark.parametrize("master", [None, "local", "local[4]", "local[*]", "local[4, 2]", "local-cluster[2,1,1024]"])
def test_what_is_on_this_machine_needs_no_declaration(master: str | None) -> None:
    refuse_master(master, shared_disk=False)


def test_only_a_local_master_is_one_jvm() -> None:
    assert is_one_jvm("local[4]")
    assert not is_one_jvm("local-cluster[1,1,1024]")
    assert not is_one_jvm("spark://host:7077")


def test_the_declaration_is_on_or_off() -> None:
    assert read_run_settings({"shared_disk": "on"}).shared_disk
    assert not read_run_settings({}).shared_disk
    with pytest.raises(SettingError, match="shared_disk must be on or off, and is 'yes'"):
        read_run_settings({"shared_disk": "yes"})
