"""The archive of a Python for executors."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from engine.errors import SettingError
from engine.spark.jvm.executor_archives import package_python


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive with one package, and two that are left out."""
    site = tmp_path_factory.mktemp("site")
    for name in ("hello", "pyspark", "apache-airflow-core"):
        module = f"{name.replace('-', '_')}.py"
        (site / module).write_text("SAID = 'hello'\n")
        metadata = site / f"{name.replace('-', '_')}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (metadata / "RECORD").write_text(f"{module},,\n{metadata.name}/METADATA,,\n../../bin/{name},,\n")
    target = tmp_path_factory.mktemp("made") / "env.tar.gz"

    made = package_python(target, site)

    assert (made.path, made.packages, made.python) == (target, 1, platform.python_version())
    assert [path.name for path in target.parent.iterdir()] == [target.name]
    return target


@pytest.fixture(scope="module")
def unpacked(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("elsewhere") / "environment"
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="tar")
    return folder


def launch(folder: Path, code: str, path: str = os.defpath) -> subprocess.CompletedProcess[str]:
    command = ["environment/bin/python", "-c", code]
    return subprocess.run(command, cwd=folder.parent, env={"PATH": path}, capture_output=True, text=True, check=False)


def test_python_archive_runs_with_its_packages_where_it_is_unpacked(unpacked: Path) -> None:
    played = launch(
        unpacked, "import hello, json, ssl, sys; print(hello.SAID, hello.__file__, json.__file__, sys.prefix)"
    )

    assert played.returncode == 0, played.stderr
    said, *places = played.stdout.split()
    assert said == "hello"
    assert all(place.startswith(str(unpacked)) for place in places)


def test_spark_java_airflow_and_tests_are_left_out(archive: Path) -> None:
    with tarfile.open(archive) as opened:
        names = opened.getnames()

    library = f"lib/python3.{sys.version_info.minor}"
    assert f"{library}/site-packages/hello.py" in names
    assert not [name for name in names if "pyspark" in name or "airflow" in name or name.startswith(f"{library}/test/")]
    assert not any(".." in name for name in names)


def test_another_platform_is_refused_by_name(unpacked: Path, tmp_path: Path) -> None:
    (tmp_path / "uname").write_text("#!/bin/sh\necho Plan9 sparc\n")
    (tmp_path / "uname").chmod(0o755)

    played = launch(unpacked, "print(1)", f"{tmp_path}:{os.defpath}")

    assert played.returncode == 1
    assert f"this Python is for {platform.system()} {platform.machine()}, and this is Plan9 sparc" in played.stderr


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"no/env\.tar\.gz cannot be written: No such file or directory"):
        package_python(tmp_path / "no" / "env.tar.gz", tmp_path)
