"""Spark writes its checkpoints through a class of ours, which is shipped compiled."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from engine.spark.jvm.conf import driver_conf
from engine.spark.jvm.local_files import ARCHIVE, CLASS
from engine.spark.jvm.local_files.build import build, compiler_version, digest_of_source

JAVAC = shutil.which("javac")
SQL = """
CREATE TABLE ticks WITH (
  connector = 'impulse', event_rate = '1000', message_count = '60', event_time_interval = '1 second',
  start_time = '2024-01-01T00:00:00Z'
);
CREATE TABLE windows WITH (connector = 'single_file', path = '{out}', format = 'json', type = 'sink');
INSERT INTO windows SELECT tumble(INTERVAL '10 seconds') AS w, count(*) AS ticks FROM ticks GROUP BY w;
"""
RECORDS = """#!/bin/sh
echo "$0 $*" >> {journal}
exec {program} "$@"
"""


def manifest(archive: Path) -> dict[str, str]:
    lines = zipfile.ZipFile(archive).read("META-INF/MANIFEST.MF").decode().splitlines()
    return dict(line.split(": ", 1) for line in lines if line)


def test_the_archive_is_of_the_source_beside_it() -> None:
    said = manifest(ARCHIVE)

    assert said["Source-Digest-0"] + said["Source-Digest-1"] == digest_of_source(), "run its build.py"


@pytest.mark.skipif(
    JAVAC is None and not os.environ.get("CI"), reason="no Java compiler is here, which no other test and no user needs"
)
def test_compiling_it_anew_gives_the_same(tmp_path: Path) -> None:
    """Of each class every byte where the compiler is of the version that it was made with; others write them anew."""
    assert JAVAC is not None, "the Java compiler is missing: nobody knows whether the archive is of its source"
    build(tmp_path / "anew.jar", JAVAC)

    anew, shipped = zipfile.ZipFile(tmp_path / "anew.jar"), zipfile.ZipFile(ARCHIVE)
    assert anew.namelist() == shipped.namelist()
    if compiler_version(JAVAC) == manifest(ARCHIVE)["Build-Jdk-Spec"]:
        assert [anew.read(name) for name in anew.namelist()] == [shipped.read(name) for name in shipped.namelist()]


@pytest.mark.parametrize(
    ("master", "extra", "jars"),
    [
        ("local[2]", {}, None),
        ("local[2]", {"spark.jars": "/a.jar"}, "/a.jar"),
        ("local-cluster[1,1,1024]", {}, str(ARCHIVE)),
        ("spark://host:7077", {}, str(ARCHIVE)),
        ("spark://host:7077", {"spark.jars": "/a.jar"}, f"/a.jar,{ARCHIVE}"),
        ("yarn", {}, str(ARCHIVE)),
    ],
)
def test_workers_elsewhere_are_given_it(tmp_path: Path, master: str, extra: dict[str, str], jars: str | None) -> None:
    conf = driver_conf(app_name="n", master=master, parallelism=1, scratch=tmp_path, extra=extra)

    assert conf.get("spark.jars") == jars
    assert conf.get("spark.hadoop.fs.file.impl") == (None if master == "yarn" else CLASS)


def test_masters_that_start_before_they_have_our_classes_keep_hadoops(tmp_path: Path) -> None:
    conf = driver_conf(app_name="n", master="yarn", parallelism=1, scratch=tmp_path, extra={})

    assert "spark.hadoop.fs.file.impl" not in conf


@pytest.mark.spark
def test_an_epoch_starts_no_chmod(tmp_path: Path) -> None:
    journal, folder = tmp_path / "journal", tmp_path / "programs"
    folder.mkdir()
    program = shutil.which("chmod")
    assert program is not None
    (folder / "chmod").write_text(RECORDS.format(journal=journal, program=program))
    (folder / "chmod").chmod(0o755)
    (tmp_path / "q.sql").write_text(SQL.format(out=tmp_path / "out.json"))
    command = [sys.executable, "-m", "engine", "run", str(tmp_path / "q.sql"), "--state-dir", str(tmp_path / "state")]

    subprocess.run(
        [*command, "--set", "quick=true", "--max-epoch-rows", "10"],
        env={**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"},
        check=True,
        capture_output=True,
    )

    assert len((tmp_path / "out.json").read_text().splitlines()) == 6
    assert not journal.exists() or "state" not in journal.read_text()
    changelog = next((tmp_path / "state" / "checkpoint" / "state").rglob("*.changelog"))
    assert changelog.stat().st_mode & 0o700 == 0o600
